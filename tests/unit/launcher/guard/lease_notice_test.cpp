#include "launcher/guard/lease_notice.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

namespace ddprun {
namespace {

/// As a guard hears it: the end of the lease, "-" for no workers, or nothing.
std::string heard(const LeaseNotice::Notice& told) {
  if (!told) return "";
  return told->workers_live ? std::to_string(told->end.ms) : "-";
}

}  // namespace

TEST_CASE("lease notice: a lease is told before workers start, and each one while they live") {
  LeaseNotice notice;
  CHECK(heard(notice.renew(Instant{10})).empty());
  CHECK(heard(notice.workers_start()) == "10");
  CHECK(heard(notice.renew(Instant{20})) == "20");
}

TEST_CASE(
    "lease notice: the end of a lease is not told, and the lease is kept for who starts late") {
  LeaseNotice notice;
  (void)notice.renew(Instant{10});
  CHECK(heard(notice.workers_start()) == "10");
  CHECK(heard(notice.renew(std::nullopt)).empty());
  CHECK(notice.end() == Instant{10});
}

TEST_CASE("lease notice: it is told once that no worker lives, and no lease after that") {
  LeaseNotice notice;
  (void)notice.renew(Instant{10});
  CHECK(heard(notice.workers_start()) == "10");
  CHECK(heard(notice.workers_are_gone()) == "-");
  CHECK(heard(notice.workers_are_gone()).empty());
  CHECK(heard(notice.renew(Instant{20})).empty());
  CHECK(heard(notice.workers_start()) == "20");
}

TEST_CASE("lease notice: where nothing needs a lease nothing is told") {
  LeaseNotice notice;
  CHECK(heard(notice.workers_start()).empty());
  CHECK(heard(notice.workers_are_gone()).empty());
  CHECK_FALSE(notice.end().has_value());
}

}  // namespace ddprun
