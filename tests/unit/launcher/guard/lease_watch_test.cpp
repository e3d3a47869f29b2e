#include "launcher/guard/lease_watch.hpp"

#include <doctest/doctest.h>

namespace ddprun {

TEST_SUITE("lease watch") {
  TEST_CASE("nothing is killed before a lease was told") {
    LeaseWatch watch;
    CHECK_FALSE(watch.next_deadline());
    CHECK_FALSE(watch.take_end(Instant{1'000'000}));
  }

  TEST_CASE("workers are killed once, at the end that was told last") {
    LeaseWatch watch;
    watch.tell({true, Instant{10}});
    watch.tell({true, Instant{20}});
    CHECK(watch.next_deadline() == Instant{20});
    CHECK_FALSE(watch.take_end(Instant{19}));
    CHECK(watch.take_end(Instant{20}));
    CHECK_FALSE(watch.take_end(Instant{21}));
    CHECK_FALSE(watch.next_deadline());
    watch.tell({true, Instant{30}});
    CHECK(watch.take_end(Instant{30}));
  }

  TEST_CASE("no worker is left to be killed once the agent has said so") {
    LeaseWatch watch;
    watch.tell({true, Instant{10}});
    watch.tell({false, Instant{10}});
    CHECK_FALSE(watch.next_deadline());
    CHECK_FALSE(watch.take_end(Instant{10}));
  }
}

}  // namespace ddprun
