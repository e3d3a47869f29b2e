// What the guard makes of leases, also when one of the two processes stands still, and of a will.
#include "tests/unit/launcher/guard/guard_kit.hpp"
#include "tests/unit/launcher/guard/will_kit.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

using guard_story::Guarded;
using guard_story::hold_still;
using guard_story::Sign;
using guard_story::Step;

constexpr Millis soon{300};
constexpr Millis long_time{60'000};

/// A worker that lives until it is killed.
struct GuardedWorker {
  TempFolder folder;
  Sign alive{folder.at("alive")};
  Guarded node{alive.hold() + "exec sleep 600"};

  void starts_until(Instant end) const {
    node.renew(end);
    node.order(Step::workers_start);
    node.order(Step::spawn);
    REQUIRE(alive.was_given());
  }
};

}  // namespace

TEST_CASE(
    "guard: G2 an agent that is stopped after its lease has ended kills nobody, the guard does") {
  GuardedWorker worker;
  worker.starts_until(now() + Millis{1'000});
  worker.node.order(Step::lease_is_over);
  hold_still(worker.node.agent());
  CHECK(worker.alive.has_ended());
}

TEST_CASE("guard: G2 a lease that is over when it is told ends workers at once") {
  GuardedWorker worker;
  worker.starts_until(now() + long_time);
  worker.node.renew(now() - soon);
  CHECK(worker.alive.has_ended());
}

TEST_CASE("guard: G2 a lease that ends earlier than the one before counts, since it is newer") {
  GuardedWorker worker;
  worker.starts_until(now() + long_time);
  worker.node.renew(now() + soon);
  CHECK(worker.alive.has_ended());
}

TEST_CASE("guard: one that slept past a lease's end takes the newest that it was told meanwhile") {
  GuardedWorker worker;
  worker.starts_until(now() + long_time);
  hold_still(worker.node.guard());
  worker.node.renew(now() - soon);
  worker.node.renew(now() + long_time);
  ::kill(worker.node.guard(), SIGCONT);
  worker.node.order(Step::read);
  CHECK(worker.alive.is_held());
  worker.node.renew(now() - soon);
  CHECK(worker.alive.has_ended());
}

TEST_CASE("guard: once no worker lives the end of the lease kills nobody") {
  GuardedWorker worker;
  worker.starts_until(now() + long_time);
  worker.node.order(Step::workers_are_gone);
  worker.node.renew(now() - soon);
  worker.node.order(Step::lease_is_over);
  worker.node.order(Step::read);
  CHECK(worker.alive.is_held());
  worker.node.order(Step::workers_start);  // the next ones have no lease any more
  CHECK(worker.alive.has_ended());
}

TEST_CASE("guard: G5 a will is said once the last process is dead that the agent had started") {
  will_story::WillListener coordinator;
  const TempFolder folder;
  const Sign alive(folder.at("alive"));
  const Will will{7, {1, 2, 3}};
  GuardOptions options;
  options.will = LastWill{will, will_story::job("job")};
  const Guarded node("(setsid sh -c '" + alive.hold() + "exec sleep 600' &); exec sleep 600",
                     options,
                     coordinator.address());
  node.order(Step::spawn);
  REQUIRE(alive.was_given());
  bool is_alive = true;
  coordinator.on_hearing = [&] { is_alive = alive.is_held(); };
  ::kill(node.agent(), SIGKILL);
  CHECK(std::get<Will>(coordinator.hears()) == will);
  CHECK_FALSE(is_alive);
}

}  // namespace ddprun
