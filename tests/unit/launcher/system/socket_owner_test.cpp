// With real sockets; those of other users are made by a process that becomes one, as root may.
#include "launcher/system/socket_owner.hpp"

#include "rendezvous/fd.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace ddprun {
namespace {

constexpr uid_t other_user = 54'321;

sockaddr_in6 address_of(const IpEndpoint& endpoint) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(endpoint.port);
  std::memcpy(&address.sin6_addr, endpoint.address.bytes.data(), endpoint.address.bytes.size());
  return address;
}

IpEndpoint endpoint_by(int (*name)(int, sockaddr*, socklen_t*), const Fd& socket) {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  REQUIRE(name(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  IpEndpoint endpoint;
  endpoint.port = ntohs(address.sin6_port);
  std::memcpy(endpoint.address.bytes.data(), &address.sin6_addr, endpoint.address.bytes.size());
  return endpoint;
}

Fd tcp_socket() {
  return Fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

Fd listener_at(const IpEndpoint& endpoint) {
  Fd socket = tcp_socket();
  const sockaddr_in6 address = address_of(endpoint);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(socket.get(), 8) == 0);
  return socket;
}

/// By a socket for both kinds, as PyTorch's is.
bool connect_to(const Fd& socket, const IpEndpoint& endpoint) {
  const sockaddr_in6 address = address_of(endpoint);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// By one for IPv4 alone.
Fd connected_by_ipv4(std::uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  REQUIRE(::connect(socket.get(), to, sizeof address) == 0);
  return socket;
}

struct Listening {
  explicit Listening(const std::string& address)
      : socket(listener_at({parse_ip_address(address).value()})),
        at(endpoint_by(::getsockname, socket)) {}
  [[nodiscard]] Fd accept() const {
    return Fd(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  Fd socket;
  IpEndpoint at;
};

std::optional<uid_t> owner_behind(const Fd& accepted) {
  return owner_of_local_peer(endpoint_by(::getsockname, accepted),
                             endpoint_by(::getpeername, accepted));
}

TEST_CASE("socket owner: this user's end of a connection is known, by IPv4 and by IPv6") {
  for (const char* address : {"127.0.0.1", "::1"}) {
    CAPTURE(std::string(address));
    const Listening listening(address);
    const Fd client = tcp_socket();
    REQUIRE(connect_to(client, listening.at));
    CHECK(owner_behind(listening.accept()) == ::geteuid());
  }
  const Listening listening("127.0.0.1");
  const Fd client = connected_by_ipv4(listening.at.port);
  CHECK(owner_behind(listening.accept()) == ::geteuid());
}

/// A process of another user that connects, and lives until its pipe is closed.
class OtherUser {
 public:
  explicit OtherUser(const IpEndpoint& to) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const Fd waits(ends[0]);
    ends_it_ = Fd(ends[1]);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    ends_it_.reset();
    if (::setresuid(other_user, other_user, other_user) != 0) ::_exit(1);
    const Fd socket = tcp_socket();
    if (!connect_to(socket, to)) ::_exit(1);
    char end = 0;
    ::_exit(::read(waits.get(), &end, 1) == 0 ? 0 : 1);
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;
  ~OtherUser() { end(); }

  void end() {
    ends_it_.reset();
    if (pid_ > 0) ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  Fd ends_it_;
  pid_t pid_ = 0;
};

TEST_CASE("socket owner: another user's end of a connection is his, until it is gone") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can become another user");
    return;
  }
  for (const char* address : {"127.0.0.1", "::1"}) {
    CAPTURE(std::string(address));
    const Listening listening(address);
    OtherUser other(listening.at);
    const Fd accepted = listening.accept();
    CHECK(owner_behind(accepted) == other_user);
    other.end();
    CHECK_FALSE(owner_behind(accepted));  // the kernel says root then
  }
}

/// The objection to root's connection, as another user has it.
std::string objection_of_another_user(const IpEndpoint& local, const IpEndpoint& peer) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const Fd reads(ends[0]);
  Fd writes(ends[1]);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    if (::setresuid(other_user, other_user, other_user) != 0) ::_exit(1);
    const std::string objection = objection_to_owner(local, peer);
    ::_exit(::write(writes.get(), objection.data(), objection.size()) < 0 ? 1 : 0);
  }
  writes.reset();
  std::array<char, 256> text{};
  const ssize_t size = ::read(reads.get(), text.data(), text.size());
  ::waitpid(pid, nullptr, 0);
  REQUIRE(size >= 0);
  return {text.data(), static_cast<std::size_t>(size)};
}

TEST_CASE("socket owner: root may connect for anybody, so only root takes its connections") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can become another user");
    return;
  }
  const Listening listening("127.0.0.1");
  const Fd client = tcp_socket();
  REQUIRE(connect_to(client, listening.at));
  const Fd accepted = listening.accept();
  const IpEndpoint peer = endpoint_by(::getpeername, accepted);
  CHECK(objection_to_owner(listening.at, peer).empty());
  CHECK(objection_of_another_user(listening.at, peer) == "whose process belongs to uid 0");
}

TEST_CASE("socket owner: a peer that has closed its end has no owner, though bytes of it arrive") {
  const Listening listening("127.0.0.1");
  Fd client = tcp_socket();
  REQUIRE(connect_to(client, listening.at));
  REQUIRE(::send(client.get(), "late", 4, 0) == 4);
  const Fd accepted = listening.accept();
  client.reset();
  CHECK_FALSE(owner_behind(accepted));
}

TEST_CASE("socket owner: one who listens at a stranger's port is not taken for the stranger") {
  const Listening everywhere("::");
  const IpEndpoint local{parse_ip_address("127.0.0.1").value(), 1};
  const IpEndpoint stranger{parse_ip_address("192.0.2.1").value(), everywhere.at.port};
  CHECK_FALSE(owner_of_local_peer(local, stranger));
  const IpEndpoint here{parse_ip_address("127.0.0.1").value(), everywhere.at.port};
  CHECK_FALSE(owner_of_local_peer(local, here));
}

}  // namespace
}  // namespace ddprun
