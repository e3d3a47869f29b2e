#include "launcher/guard/guard_message.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <type_traits>

namespace ddprun {

static_assert(std::is_trivially_copyable_v<GuardMessage>);

void send(int socket, const GuardMessage& message) {
  (void)::send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t receive(int socket, int flags, GuardMessage& message) {
  std::array<char, sizeof message> bytes{};
  ssize_t count = ::recv(socket, bytes.data(), bytes.size(), flags);
  // The kernel says so before it gives what the other side, which had not read all, has sent.
  if (count < 0 && errno == ECONNRESET) count = ::recv(socket, bytes.data(), bytes.size(), flags);
  if (count == sizeof message) std::memcpy(&message, bytes.data(), sizeof message);
  return count;
}

/// Without waiting: a guard that was stopped for minutes has not read the newest lease, and may
/// kill when it resumes.
void send_to_both(int guard_socket, int fence_line, const GuardedLease& lease) {
  for (const int socket : {guard_socket, fence_line}) {
    if (socket >= 0) send(socket, lease);
  }
}

}  // namespace ddprun
