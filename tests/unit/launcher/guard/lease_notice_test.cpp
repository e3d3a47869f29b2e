#include "launcher/guard/lease_notice.hpp"

#include "launcher/guard/guard_message.hpp"
#include "rendezvous/fd.hpp"

#include <doctest/doctest.h>

#include <sys/socket.h>

#include <array>
#include <string>

namespace ddprun {
namespace {

/// What a guard at the other end would hear.
struct Hearing {
  Hearing() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    own = Fd(ends[0]);
    agents = Fd(ends[1]);
  }

  /// All that was said since the last time: the ends of leases, and "-" for no workers.
  [[nodiscard]] std::string heard() const {
    std::string text;
    GuardMessage message;
    while (receive(own.get(), MSG_DONTWAIT, message) > 0) {
      const auto told = std::get<GuardedLease>(message);
      text += (told.workers_live ? std::to_string(told.end.ms) : "-") + " ";
    }
    return text;
  }

  Fd own;
  Fd agents;
};

}  // namespace

TEST_CASE("lease notice: a lease is told before workers start, and each one while they live") {
  const Hearing guard;
  LeaseNotice notice(guard.agents.get(), -1);
  notice.renew(Instant{10});
  CHECK(guard.heard().empty());
  notice.workers_start();
  CHECK(guard.heard() == "10 ");
  notice.renew(Instant{20});
  CHECK(guard.heard() == "20 ");
}

TEST_CASE(
    "lease notice: the end of a lease is not told, and the lease is kept for who starts late") {
  const Hearing guard;
  LeaseNotice notice(guard.agents.get(), -1);
  notice.renew(Instant{10});
  notice.workers_start();
  notice.renew(std::nullopt);
  CHECK(guard.heard() == "10 ");
  CHECK(notice.end() == Instant{10});
}

TEST_CASE("lease notice: it is told once that no worker lives, and no lease after that") {
  const Hearing guard;
  LeaseNotice notice(guard.agents.get(), -1);
  notice.renew(Instant{10});
  notice.workers_start();
  notice.workers_are_gone();
  notice.workers_are_gone();
  notice.renew(Instant{20});
  CHECK(guard.heard() == "10 - ");
  notice.workers_start();
  CHECK(guard.heard() == "20 ");
}

TEST_CASE("lease notice: where nothing needs a lease nothing is told") {
  const Hearing guard;
  LeaseNotice notice(guard.agents.get(), -1);
  notice.workers_start();
  notice.workers_are_gone();
  CHECK(guard.heard().empty());
  CHECK_FALSE(notice.end().has_value());
}

}  // namespace ddprun
