// Workers under a lease, and processes of ddprun that stand still, one by one and all together.
#include "launcher/guard/fence.hpp"

#include "tests/unit/launcher/guard/guard_kit.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

namespace ddprun {
namespace {

using guard_story::Guarded;
using guard_story::hold_still;
using guard_story::Sign;
using guard_story::Step;

constexpr Millis lease{1'000};
constexpr Millis margin{1'000};
constexpr Millis no_end{600'000};

/// A worker with a child in its process group, and one that has left that.
struct FencedNode {
  TempFolder folder;
  Sign group{folder.at("group")};
  Sign detached{folder.at("detached")};
  Guarded node{
      group.hold() + "sleep 600 & setsid sh -c '" + detached.hold() + "exec sleep 600' 9>&- & wait",
      {.fence = FenceOptions{1, margin}}};

  /// Returns once the fence process has taken the lease and set its timer.
  [[nodiscard]] Instant starts_for(Millis time) {
    group.begin_anew();
    detached.begin_anew();
    const Instant end = now() + time;
    node.renew(end);
    node.order(Step::workers_start);
    node.order(Step::spawn);
    REQUIRE(group.was_given());
    REQUIRE(detached.was_given());
    node.order(Step::read);
    guard_story::wait_for_state(fence_process(), 'S');  // it sleeps only before it takes one
    return end;
  }

  /// Waits for one other than that.
  [[nodiscard]] int fence_process(int other_than = -1) const {
    const Instant enough = now() + Millis{guard_story::patience_ms};
    std::vector<int> children;
    while (children.size() < 2 || children.back() == other_than) {
      if (now() > enough) FAIL("no fence process");
      children = children_of(node.guard());
    }
    return children.back();
  }

  void stop_all() const {
    hold_still(node.guard());
    hold_still(fence_process());
    hold_still(node.agent());
  }
};

}  // namespace

TEST_CASE("fence: with agent and guard stopped all that is below the agent dies in time") {
  FencedNode fenced;
  const Instant end = fenced.starts_for(lease);
  hold_still(fenced.node.guard());
  hold_still(fenced.node.agent());
  CHECK(fenced.group.has_ended());
  CHECK(fenced.detached.has_ended());
  CHECK(now() < end + margin);
}

TEST_CASE(
    "fence: with all processes of ddprun stopped the kernel kills the worker's group in time") {
  FencedNode fenced;
  const Instant end = fenced.starts_for(lease);
  fenced.stop_all();
  CHECK(fenced.group.has_ended());
  CHECK(now() < end + margin);
}

TEST_CASE("fence: an agent that goes on after it was used has another one") {
  FencedNode fenced;
  (void)fenced.starts_for(lease);
  const int first = fenced.fence_process();
  hold_still(fenced.node.agent());
  CHECK(fenced.group.has_ended());
  CHECK(fenced.fence_process(first) > 0);
  ::kill(fenced.node.agent(), SIGCONT);
  fenced.node.order(Step::workers_are_gone);
  const Instant end = fenced.starts_for(lease);
  fenced.stop_all();
  CHECK(fenced.group.has_ended());
  CHECK(now() < end + margin);
}

TEST_CASE("fence: its end alone ends the worker's group, and neither agent nor guard") {
  FencedNode fenced;
  (void)fenced.starts_for(no_end);
  const int agent = fenced.node.agent();
  const int first = fenced.fence_process();
  ::kill(first, SIGKILL);
  CHECK(fenced.group.has_ended());
  CHECK(fenced.fence_process(first) > 0);
  CHECK(fenced.node.agent() == agent);
  fenced.node.renew(now() + no_end);
  fenced.node.order(Step::read);
}

TEST_CASE("fence: a new one takes the newest lease and none of those that were told before") {
  FencedNode fenced;
  const int first = fenced.fence_process();
  fenced.node.renew(now() + no_end);
  fenced.node.order(Step::workers_start);
  fenced.node.order(Step::read);
  hold_still(fenced.node.guard());
  ::kill(first, SIGKILL);
  guard_story::wait_for_state(first, 'Z');  // else its end may come after the worker's start
  fenced.node.renew(now() - margin * 2);
  fenced.node.renew(now() + no_end);
  fenced.node.order(Step::spawn);
  REQUIRE(fenced.group.was_given());
  ::kill(fenced.node.guard(), SIGCONT);
  fenced.node.order(Step::read);
  CHECK(fenced.group.is_held());
  fenced.node.renew(now() - margin * 2);
  CHECK(fenced.group.has_ended());
}

TEST_CASE("fence: once no worker lives the end of the lease kills nobody") {
  FencedNode fenced;
  (void)fenced.starts_for(no_end);
  fenced.node.order(Step::workers_are_gone);
  fenced.node.renew(now() - margin * 2);
  fenced.node.order(Step::read);
  CHECK(fenced.group.is_held());
}

TEST_CASE("fence: what the system refuses is said, with what follows from it") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_SIGPENDING, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_SIGPENDING, &none) == 0);
  const auto without_timer = Fence::open({1, margin});
  REQUIRE(::setrlimit(RLIMIT_SIGPENDING, &before) == 0);
  REQUIRE(without_timer.has_error());
  CHECK(without_timer.error().message() ==
        "workers may outlive their lease while all processes of ddprun here are stopped: "
        "timer_create: Resource temporarily unavailable; raise ulimit -i");

  const auto of_too_many = Fence::open({2'000'000'000, margin});
  REQUIRE(of_too_many.has_error());
  CHECK(
      of_too_many.error().message().ends_with("too few descriptors; raise the hard limit, ulimit "
                                              "-Hn"));
}

}  // namespace ddprun
