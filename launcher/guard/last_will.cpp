#include "launcher/guard/last_will.hpp"

#include "launcher/guard/guard_message.hpp"
#include "launcher/system/clock.hpp"
#include "launcher/text/endpoint.hpp"
#include "rendezvous/fd.hpp"
#include "rendezvous/wire/message_codec.hpp"
#include "rendezvous/wire/secure_channel.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <netdb.h>
#include <optional>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

/// A connection that is read and written until a deadline.
class Line {
 public:
  Line(const addrinfo& to, Instant until) : until_(until) {
    socket_ = Fd(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // An attempt that fails is seen when something is sent.
    if (socket_.is_open()) (void)::connect(socket_.get(), to.ai_addr, to.ai_addrlen);
  }

  [[nodiscard]] bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      if (!waits_for(POLLOUT)) return false;
      const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  /// Some bytes; none at the other side's end; nothing if that cannot be waited for any longer.
  [[nodiscard]] std::optional<std::string> receive() const {
    std::array<char, 4096> bytes{};
    if (!waits_for(POLLIN)) return std::nullopt;
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (count < 0) return std::nullopt;
    return std::string(bytes.data(), static_cast<std::size_t>(count));
  }

 private:
  [[nodiscard]] bool waits_for(short events) const {
    pollfd ready{socket_.get(), events, 0};
    return socket_.is_open() && ::poll(&ready, 1, poll_time(until_)) == 1 &&
           (ready.revents & events) != 0;
  }

  Fd socket_;
  Instant until_;
};

/// The other side answers a will by ending the connection.
bool say(const Line& line, const LastWill& last, const std::string& address) {
  SecureChannel channel(Side::agent, last.credentials, random_ephemeral_key(), address);
  std::string to_send;
  channel.start(to_send);
  bool said = false;
  while (line.send(to_send)) {
    to_send.clear();
    const auto received = line.receive();
    if (!received) return false;
    if (received->empty()) return said;
    std::vector<std::string> messages;
    if (!channel.receive(*received, to_send, messages)) return false;
    if (said || !channel.established()) continue;
    said = true;
    to_send += channel.seal(encode(ToCoordinator(last.will)));
  }
  return false;
}

}  // namespace

bool deliver(const LastWill& last, const std::string& address) {
  const auto endpoint = parse_endpoint(address, 0);
  if (!endpoint) return false;
  addrinfo numeric{};
  numeric.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  numeric.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(endpoint->port);
  if (::getaddrinfo(endpoint->host.c_str(), port.c_str(), &numeric, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  return say(Line(*found, now() + LastWill::patience), last, address);
}

/// Without waiting. A guard that has not read it leaves the will where it was to go before.
void WillNotice::is_for(const std::string& address) {
  address_ = address;
  WillAddress told;
  if (address.size() < told.text.size()) std::ranges::copy(address, told.text.begin());
  send(socket_, told);
}

}  // namespace ddprun
