#include "rendezvous/keep_alive.hpp"

#include <doctest/doctest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ddprun {
namespace {

int option_of(int socket, int level, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  CHECK(::getsockopt(socket, level, option, &value, &size) == 0);
  return value;
}

TEST_CASE("keep alive: the kernel asks at the times that are named, and not before") {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(socket >= 0);
  CHECK(option_of(socket, SOL_SOCKET, SO_KEEPALIVE) == 0);
  keep_alive(socket, {.idle_s = 71, .probe_s = 11, .probes_max = 7});
  CHECK(option_of(socket, SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option_of(socket, IPPROTO_TCP, TCP_KEEPIDLE) == 71);
  CHECK(option_of(socket, IPPROTO_TCP, TCP_KEEPINTVL) == 11);
  CHECK(option_of(socket, IPPROTO_TCP, TCP_KEEPCNT) == 7);
  ::close(socket);
}

}  // namespace
}  // namespace ddprun
