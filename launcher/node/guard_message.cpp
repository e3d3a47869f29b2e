#include "launcher/node/guard_message.hpp"

#include <sys/socket.h>

#include <cstring>
#include <type_traits>

namespace ddprun {

static_assert(std::is_trivially_copyable_v<GuardMessage>);

void send(int socket, const GuardMessage& message) {
  (void)::send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t receive(int socket, int flags, GuardMessage& message) {
  std::array<char, sizeof message> bytes{};
  const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), flags);
  if (count == sizeof message) std::memcpy(&message, bytes.data(), sizeof message);
  return count;
}

}  // namespace ddprun
