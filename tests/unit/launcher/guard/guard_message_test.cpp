#include "launcher/guard/guard_message.hpp"

#include "rendezvous/fd.hpp"

#include <doctest/doctest.h>

#include <sys/socket.h>

#include <array>

namespace ddprun {

TEST_CASE("guard message: what was told comes before the end of who had not read all") {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const Fd guard(ends[0]);
  Fd agent(ends[1]);
  REQUIRE(::send(guard.get(), "2", 1, MSG_NOSIGNAL) == 1);  // a signal
  send(agent.get(), WillAddress{});
  send(agent.get(), GuardedLease{true, Instant{10}});
  agent = Fd();
  GuardMessage message;
  REQUIRE(receive(guard.get(), 0, message) > 0);
  CHECK(std::holds_alternative<WillAddress>(message));
  REQUIRE(receive(guard.get(), 0, message) > 0);
  CHECK(std::get<GuardedLease>(message).end == Instant{10});
  CHECK(receive(guard.get(), 0, message) == 0);
}

}  // namespace ddprun
