// What the tests of the coordinator share: the story of one job, and its answers.
#pragma once

#include "rendezvous/generations/coordinator.hpp"
#include "tests/unit/trace.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace ddprun::job_story {

using Actions = std::vector<CoordinatorAction>;

inline Offer offer_of(int node, int worker_count = 2) {
  return {NodeId{node}, "n" + std::to_string(node), "10.0.0.1", 4000, worker_count};
}

/// Tells the story of one job; each verb returns what the coordinator wants done.
struct JobStory {
  Coordinator coordinator;
  Instant now;

  explicit JobStory(CoordinatorOptions options = {}) : coordinator(options) {}

  /// Stops are without their reason, which `why` has: the last one.
  Actions meets(const CoordinatorEvent& event) {
    Actions actions;
    coordinator.on_event(now, event, actions);
    why.clear();
    for (CoordinatorAction& action : actions) {
      if (auto* stop = std::get_if<StopGeneration>(&action)) why = std::exchange(stop->why, {});
    }
    return actions;
  }
  Actions joins(int node, std::int64_t done_with = 0, int worker_count = 2) {
    return meets(Join{offer_of(node, worker_count), GenerationNumber{done_with}});
  }
  Actions fails(std::int64_t number, int rank, WorkerEnd end) {
    Actions actions = meets(WorkerFailed{GenerationNumber{number}, failure(rank, end)});
    if (!actions.empty()) CHECK(why.starts_with(describe(failure(rank, end))));
    return actions;
  }
  Actions succeeds(std::int64_t number, int rank) {
    return meets(WorkerSucceeded{GenerationNumber{number}, Rank{rank}});
  }
  Actions is_asked_to_stop(const StopRequested& stop) { return meets(stop); }
  Actions loses(int node) { return meets(NodeLost{NodeId{node}, "silent for 4 s"}); }
  Actions waits(Millis time) {
    now = now + time;
    return meets(Timeout{});
  }

  std::string why;

  static WorkerFailure failure(int rank, WorkerEnd end) {
    return {"n0", Rank{rank}, LocalRank{rank}, 70 + rank, end};
  }
};

inline StopGeneration stop(std::int64_t number, int signal, Millis grace, int node = 0) {
  return {NodeId{node}, GenerationNumber{number}, signal, grace};
}
inline FinishJob finish(Outcome outcome, int node = 0) {
  return {NodeId{node}, std::move(outcome)};
}

/// The nodes that are told to start a generation.
inline std::vector<int> members_of(const Actions& actions) {
  std::vector<int> nodes;
  for (const CoordinatorAction& action : actions) {
    if (const auto* start = std::get_if<StartGeneration>(&action))
      nodes.push_back(start->node.value);
  }
  return nodes;
}
inline std::string cause_of(const Actions& actions) {
  return std::get<StartGeneration>(actions.at(0)).part.cause;
}

}  // namespace ddprun::job_story
