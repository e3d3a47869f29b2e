// The job is asked to end while one of its nodes is about to leave.
#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace ddprun {
namespace {

using namespace job_story;

const StopRequested by_ctrl_c{SIGINT};
const StopRequested at_time_limit{.time_is_up = true};
const Outcome ended_by_ctrl_c{128 + SIGINT, "stopped by SIGINT (2)", {}};
const Outcome ended_at_limit{
    75, "stopped before its time limit; what was saved is kept: run again", {}};

/// Three nodes that run the first generation; two are enough.
struct StoppedLeaveStory : JobStory {
  StoppedLeaveStory() : JobStory(options()) {
    for (const int node : {0, 1, 2}) (void)joins(node);
  }
  static CoordinatorOptions options() {
    CoordinatorOptions made;
    made.gathering.nodes_min = 2;
    made.gathering.nodes_max = 3;
    made.save_grace = Millis{110'000};
    return made;
  }
  /// Its signal may be for all: the generation runs on for a second.
  void is_about_to_leave() {
    CHECK(meets(LeaveRequested{NodeId{2}, SIGTERM, true}).empty());
    now = now + Millis{500};
  }
  /// All workers save already.
  void leaves() { CHECK(meets(LeaveRequested{NodeId{2}, SIGTERM}).size() == 3); }

  void ends(const Outcome& outcome) {
    CHECK(coordinator.next_deadline() == std::nullopt);
    for (const int node : {2, 0}) CHECK(joins(node, 1).empty());
    CHECK(joins(1, 1) == Actions{finish(outcome, 2), finish(outcome, 0), finish(outcome, 1)});
  }
};

Actions all_are_stopped(int signal, Millis grace) {
  Actions stops;
  for (const int node : {0, 1, 2}) stops.emplace_back(stop(1, signal, grace, node));
  return stops;
}

TEST_CASE("coordinator: ctrl-C in the second before a node leaves ends the job") {
  StoppedLeaveStory job;
  job.is_about_to_leave();
  CHECK(job.meets(by_ctrl_c) == all_are_stopped(SIGINT, CoordinatorOptions{}.grace));
  job.ends(ended_by_ctrl_c);
}

TEST_CASE("coordinator: ctrl-C while workers save since a node leaves ends the job after that") {
  StoppedLeaveStory job;
  job.leaves();
  CHECK(job.meets(by_ctrl_c).empty());
  job.ends(ended_by_ctrl_c);
}

TEST_CASE("coordinator: a second ctrl-C kills the workers that save since a node leaves") {
  StoppedLeaveStory job;
  job.leaves();
  CHECK(job.meets(by_ctrl_c).empty());
  CHECK(job.meets(by_ctrl_c) == all_are_stopped(SIGINT, Millis{0}));
  job.ends(ended_by_ctrl_c);
}

TEST_CASE("coordinator: a time limit in the second before a node leaves has all save and end") {
  StoppedLeaveStory job;
  job.is_about_to_leave();
  CHECK(job.meets(at_time_limit) == all_are_stopped(SIGTERM, Millis{110'000}));
  job.ends(ended_at_limit);
}

TEST_CASE("coordinator: a time limit while workers save since a node leaves takes no time") {
  StoppedLeaveStory job;
  job.leaves();
  CHECK(job.meets(at_time_limit).empty());
  job.ends(ended_at_limit);
}

/// As scancel does: the agents of too many nodes get it, and the process in the batch script.
TEST_CASE("coordinator: SIGTERM to nodes and to a coordinator without workers kills no worker") {
  StoppedLeaveStory job;
  job.is_about_to_leave();
  CHECK(job.meets(LeaveRequested{NodeId{1}, SIGTERM, true}) ==
        all_are_stopped(SIGTERM, CoordinatorOptions{}.grace));
  CHECK(job.meets(StopRequested{SIGTERM}).empty());
  StoppedLeaveStory at_once;
  at_once.leaves();
  CHECK(at_once.meets(LeaveRequested{NodeId{1}, SIGTERM}).empty());
  CHECK(at_once.meets(StopRequested{SIGTERM}).empty());
  for (StoppedLeaveStory* each : {&job, &at_once}) {
    each->ends({128 + SIGTERM, "stopped by SIGTERM (15)", {}});
  }
}

}  // namespace
}  // namespace ddprun
