// Everything that can happen to the coordinator of a small job on two nodes.
#include "rendezvous/generations/coordinator.hpp"
#include "tests/unit/search.hpp"
#include "tests/unit/trace.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <set>
#include <utility>

namespace ddprun {
namespace {

constexpr int restart_budget = 1;
constexpr std::array workers_by_node{1, 2};  // by node: ranks 0, and 1 and 2
constexpr int world_size = 3;

struct Choice {
  CoordinatorEvent event;
  bool counts = true;  ///< False: old news, which must change nothing.
  [[nodiscard]] std::string text() const { return text_of(event); }
};

/// What one node has been told, and has said.
struct NodeStory {
  std::int64_t started = 0;
  bool stopping = false;
  bool joined = false;
  bool stuck = false;
  bool finished = false;
  friend bool operator==(const NodeStory&, const NodeStory&) = default;
};

struct SearchStory {
  Coordinator coordinator{{.gathering = {.nodes_min = 2, .nodes_max = 2},
                           .restarts = {.count_max = restart_budget},
                           .straggler_after = Millis{30'000}}};
  Instant now;
  std::array<NodeStory, 2> nodes;
  std::int64_t number = 0;
  std::set<int> succeeded;
  std::optional<WorkerFailure> first_failure;
  std::optional<Outcome> outcome;
  int stops_left = 2;
  bool stop_requested = false;
  std::string broken;

  [[nodiscard]] Join join_of(int node, std::int64_t done_with) const {
    const Offer offer{NodeId{node},
                      fmt::format("n{}", node),
                      "10.0.0.1",
                      4000,
                      workers_by_node.at(static_cast<std::size_t>(node))};
    return {offer, GenerationNumber{done_with}};
  }
  [[nodiscard]] bool running() const {
    return number > 0 && !nodes[0].stopping && !nodes[1].stopping;
  }

  [[nodiscard]] std::vector<Choice> choices() const {
    std::vector<Choice> all;
    for (int node = 0; node < 2; ++node) {
      const NodeStory& story = nodes.at(static_cast<std::size_t>(node));
      if (!story.joined && !story.finished && (story.started == 0 || story.stopping)) {
        all.push_back({join_of(node, story.started)});
        const WorkersStuck stuck{NodeId{node}, GenerationNumber{story.started}, "stuck"};
        if (story.started > 0 && !story.stuck) all.push_back({stuck});
      }
      if (number > 0 && !outcome && (running() || story.joined)) {
        all.push_back({WorkersStuck{NodeId{node}, GenerationNumber{number - 1}, "old"}, false});
      }
      if (number > 0 && !outcome) all.push_back({join_of(node, number - 1), false});
      all.push_back({SaveReported{NodeId{node}, GenerationNumber{number}, 7}, false});  // unasked
    }
    for (int rank = 0; rank < world_size && number > 0; ++rank) {
      WorkerEnd end{WorkerEnd::Kind::exited, 3};
      if (rank == 2) end = {WorkerEnd::Kind::not_executed, ENOENT};
      const WorkerFailure failure{"n", Rank{rank}, LocalRank{0}, rank, end};
      const GenerationNumber current{number};
      const GenerationNumber old{number - 1};
      if (!succeeded.contains(rank)) all.push_back({WorkerFailed{current, failure}, running()});
      all.push_back({WorkerSucceeded{current, Rank{rank}}, running()});
      all.push_back({WorkerFailed{old, failure}, false});
      all.push_back({WorkerSucceeded{old, Rank{rank}}, false});
    }
    if (stops_left > 0) all.push_back({StopRequested{SIGINT}});
    all.push_back({Timeout{}});
    return all;
  }

  void apply(const Choice& choice) {
    const Coordinator before = coordinator;
    if (std::holds_alternative<Timeout>(choice.event)) {
      now = coordinator.next_deadline().value_or(now);
    }
    remember(choice);
    std::vector<CoordinatorAction> actions;
    coordinator.on_event(now, choice.event, actions);
    if (!choice.counts) expect(actions.empty() && coordinator == before, "old news change nothing");
    int notes = 0;
    for (const CoordinatorAction& action : actions) {
      notes += std::holds_alternative<Note>(action) ? 1 : 0;
      std::visit([this](const auto& what) { check(what); }, action);
    }
    const int notes_max = std::holds_alternative<WorkersStuck>(choice.event) ? 2 : 1;
    expect(notes <= notes_max && static_cast<int>(actions.size()) <= 2 + notes,
           "at most an action per node, and few notes");
    expect(nodes[0].started == nodes[1].started, "all members start together");
    for (const NodeStory& node : nodes) {
      expect(!outcome || node.finished || (!node.joined && !node.stuck), "C6: all are told");
    }
    if (running() && static_cast<int>(succeeded.size()) == world_size) broken = "success ends it";
    if (running() && first_failure) broken = "a failure ends it";
  }

  void remember(const Choice& choice) {
    if (!choice.counts) return;
    if (const auto* join = std::get_if<Join>(&choice.event)) {
      NodeStory& node = nodes.at(static_cast<std::size_t>(join->offer.node.value));
      node.joined = true;
      node.stuck = false;
    } else if (const auto* stuck = std::get_if<WorkersStuck>(&choice.event)) {
      nodes.at(static_cast<std::size_t>(stuck->node.value)).stuck = true;
    } else if (const auto* failed = std::get_if<WorkerFailed>(&choice.event)) {
      if (!first_failure) first_failure = failed->failure;
    } else if (const auto* done = std::get_if<WorkerSucceeded>(&choice.event)) {
      succeeded.insert(done->rank.value);
    } else if (std::holds_alternative<StopRequested>(choice.event)) {
      --stops_left;
      stop_requested = true;
    }
  }

  void check(const SaveGeneration&) { expect(false, "nobody joins a full job"); }
  void check(const HandOver&) { expect(false, "nobody leaves"); }
  void check(const StartGeneration& start) {
    NodeStory& node = nodes.at(static_cast<std::size_t>(start.node.value));
    expect(node.joined, "C1: only a node that has stopped and joined starts");
    expect(start.part.number.value == node.started + 1, "C2: numbers grow");
    expect(!stop_requested && !outcome, "C6: nothing starts after the verdict");
    expect(start.part.restart_count <= restart_budget, "C4: the budget is kept");
    expect(!first_failure || first_failure->end.kind != WorkerEnd::Kind::not_executed,
           "what cannot be executed is not started again");
    const int rank = start.node.value == 0 ? 0 : workers_by_node[0];
    expect(start.part.first_rank.value == rank, "C3: ranks without gaps, in order of nodes");
    expect(start.part.world_size == world_size, "C3: each rank exists");
    node = {.started = start.part.number.value};
    if (start.node.value == 0) return;
    expect(node.started == nodes[0].started, "all members start the same generation");
    number = node.started;
    succeeded.clear();
    first_failure.reset();
  }
  void check(const StopGeneration& stop) {
    NodeStory& node = nodes.at(static_cast<std::size_t>(stop.node.value));
    expect(stop.generation.value == number && !node.joined, "only who still runs is stopped");
    node.stopping = true;
  }
  void check(const FinishJob& finish) {
    NodeStory& node = nodes.at(static_cast<std::size_t>(finish.node.value));
    expect((node.joined || node.stuck) && !node.finished, "C6: each is told once");
    expect(!outcome || outcome == finish.outcome, "C6: all are told the same");
    expect(!finish.outcome.failure || finish.outcome.failure == first_failure, "C5: the first one");
    expect(finish.outcome.exit_status != 0 || static_cast<int>(succeeded.size()) == world_size,
           "success is everybody's");
    node.finished = true;
    outcome = finish.outcome;
  }
  void check(const Propose&) { broken = "nothing is proposed where nobody votes"; }
  void check(const Note&) {
    const bool any_stuck = nodes[0].stuck || nodes[1].stuck;
    expect(number == 0 || (running() && !succeeded.empty()) || any_stuck || first_failure,
           "nodes are missing, or workers run, have failed, or cannot end");
  }

  void expect(bool holds, const char* rule) {
    if (!holds && broken.empty()) broken = rule;
  }
  [[nodiscard]] std::string problem() const { return broken; }
  [[nodiscard]] std::string bucket() const {
    std::string nodes_text;
    for (const NodeStory& node : nodes) {
      nodes_text +=
          fmt::format("{} {:d}{:d}{:d} ", node.started, node.stopping, node.joined, node.stuck);
    }
    return fmt::format("{}|{}|{}|{}|{}",
                       coordinator.reason(),
                       stops_left,
                       now.ms,
                       nodes_text,
                       fmt::join(succeeded, " "));
  }
  friend bool operator==(const SearchStory&, const SearchStory&) = default;
};

TEST_CASE("coordinator: C1 to C6 hold in every story of two nodes with one restart") {
  const SearchResult result = search(SearchStory{}, 50'000);
  CHECK(result.broken_path == "");
  CHECK(result.complete);
  CHECK(result.state_count >= 1'000);  // else choices are missing
}

}  // namespace
}  // namespace ddprun
