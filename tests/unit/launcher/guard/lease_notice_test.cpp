#include "launcher/guard/lease_notice.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace ddprun {
namespace {

/// What a guard would hear.
struct Hearing {
  LeaseNotice notice{[this](const GuardedLease& told) {
    text += (told.workers_live ? std::to_string(told.end.ms) : "-") + " ";
  }};
  std::string text;

  /// All that was said since the last time: the ends of leases, and "-" for no workers.
  [[nodiscard]] std::string heard() { return std::exchange(text, {}); }
};

}  // namespace

TEST_CASE("lease notice: a lease is told before workers start, and each one while they live") {
  Hearing guard;
  LeaseNotice& notice = guard.notice;
  notice.renew(Instant{10});
  CHECK(guard.heard().empty());
  notice.workers_start();
  CHECK(guard.heard() == "10 ");
  notice.renew(Instant{20});
  CHECK(guard.heard() == "20 ");
}

TEST_CASE(
    "lease notice: the end of a lease is not told, and the lease is kept for who starts late") {
  Hearing guard;
  LeaseNotice& notice = guard.notice;
  notice.renew(Instant{10});
  notice.workers_start();
  notice.renew(std::nullopt);
  CHECK(guard.heard() == "10 ");
  CHECK(notice.end() == Instant{10});
}

TEST_CASE("lease notice: it is told once that no worker lives, and no lease after that") {
  Hearing guard;
  LeaseNotice& notice = guard.notice;
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
  Hearing guard;
  LeaseNotice& notice = guard.notice;
  notice.workers_start();
  notice.workers_are_gone();
  CHECK(guard.heard().empty());
  CHECK_FALSE(notice.end().has_value());
}

}  // namespace ddprun
