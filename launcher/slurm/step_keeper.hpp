// Keeps one agent on each node of an allocation, each in a step of its own.
//
// The end of a step has no known reason: srun ends with 0 even for a lost step. So a step
// that has ended while the job lives is started again, after a delay that doubles with each failed
// start, and only the coordinator says whether a node's agent lives. Exit status 2 counts as
// "bad options" only before the agent has joined: then it is not started again.
// Slurm ends the step of a node without power when the node is back, or when it marks the
// node DOWN; if neither happens, the step is ended here.
//
// States, of each node
//   waiting   its step is to be started at some time
//   started   its step runs, its agent has not joined yet
//   joined    its agent is known to the coordinator
//   lost      the coordinator has lost it, its step still runs: either may change
//   given up  too many starts failed, its agent has bad options, or SIGKILL did not end its step
// Invariants
//   K1  A node has at most one step.
//   K2  No step starts once the job is over, or its end was requested.
// Bounds
//   `starts_max` failed starts of a node in a row, at most `retry_max` apart. While no agent
//   at all has joined, `first_starts_max`: then no single node is at fault. That lasts for
//   `join_timeout` at most, since steps that hang do not end.
//   Twice `end_patience` after the job's end no step is waited for any longer, even one that
//   SIGKILL did not end.
#pragma once

#include "rendezvous/generations/coordinator_events.hpp"
#include "rendezvous/generations/gathering.hpp"
#include "rendezvous/machine_events.hpp"
#include "rendezvous/outcome.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

struct StepKeeperOptions {
  std::vector<std::string> nodes;  ///< Their names.
  int nodes_min = 1;               ///< Fewer are not enough for the job.
  std::set<int> saving_signals;    ///< After an end by these the job is to go on.
  Millis retry_first{250};
  Millis retry_max{30'000};
  int starts_max = 16;  ///< Five minutes, in which a node is back or was given up by Slurm.
  int first_starts_max = 4;
  Millis join_timeout = GatheringOptions{}.join_timeout;  ///< For the first agent of all.
  Millis settled_after{60'000};  ///< After this time with an agent a start counts as successful.
  Millis lost_for_good{30'000};  ///< From then on its step is ended.
  Millis end_patience{10'000};   ///< From the job's end until steps are ended that have not yet,
                                 ///< and then until they are no longer waited for.
  friend bool operator==(const StepKeeperOptions&, const StepKeeperOptions&) = default;
};

struct StepEnded {
  NodeId node;
  std::string how;        ///< "exit status 1"
  bool is_usage = false;  ///< The status of an agent with bad options.
};
struct AgentJoined {
  NodeId node;
};
struct AgentLost {
  NodeId node;
};
/// The end of the job was requested; Slurm may have ended the steps, too.
struct StopAsked {
  StopRequested how;
};
/// Agents have been told, and end by themselves.
struct JobEnds {};
using StepEvent = std::variant<StepEnded, AgentJoined, AgentLost, StopAsked, JobEnds, Timeout>;

struct StartStep {
  NodeId node;
  friend bool operator==(const StartStep&, const StartStep&) = default;
};
/// Its end is to be told, as any.
struct KillStep {
  NodeId node;
  friend bool operator==(const KillStep&, const KillStep&) = default;
};
/// Too few nodes can be started, or no agent has joined; or stop was requested, and no step is
/// left. This ends the job, and then the remaining steps.
struct EndJob {
  Outcome outcome;
  friend bool operator==(const EndJob&, const EndJob&) = default;
};
using StepAction = std::variant<StartStep, KillStep, EndJob, Note>;

class StepKeeper {
 public:
  explicit StepKeeper(StepKeeperOptions options);

  /// The first actions: call once, before any event.
  void start(Instant now, std::vector<StepAction>& out);

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws; total: an event that means nothing in the present state, or of a node that there is
  /// not, changes nothing.
  void on_event(Instant now, const StepEvent& event, std::vector<StepAction>& out);

  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// Nodes whose step is waited for.
  [[nodiscard]] int steps_count() const;

  friend bool operator==(const StepKeeper&, const StepKeeper&) = default;

 private:
  enum class State : std::uint8_t { waiting, started, joined, lost, given_up };
  using Actions = std::vector<StepAction>;
  struct Node {
    std::string name;
    State state = State::waiting;
    Instant since;           // the start of its state
    Instant due;             // the next action of a waiting or lost one
    int starts_in_vain = 0;  // in a row
    friend bool operator==(const Node&, const Node&) = default;
  };

  void on(Instant now, const StepEnded& ended, Actions& out);
  void on(Instant now, const AgentJoined& joined, Actions& out);
  void on(Instant now, const AgentLost& lost, Actions& out);
  void on(Instant now, const StopAsked& asked, Actions& out);
  void on(Instant now, const JobEnds&, Actions& out);
  void on(Instant now, const Timeout&, Actions& out);
  void end_if_none_left(Actions& out) const;
  void end_all(Instant now, Actions& out);
  void wait_no_longer(Actions& out);
  void start_step(Instant now, NodeId id, Actions& out);
  void give_up(Instant now, Node& node, const std::string& how, Actions& out);
  void abandon(std::string why, Actions& out);
  [[nodiscard]] Millis delay_of(const Node& node) const;
  [[nodiscard]] Node* find(NodeId id);
  static void enter(Instant now, Node& node, State state);

  StepKeeperOptions options_;
  std::vector<Node> nodes_;
  bool any_joined_ = false;               // ever
  std::optional<Instant> none_deadline_;  // until then one has
  std::optional<StopRequested> stop_;     // the newest request
  bool abandoned_ = false;
  std::optional<Instant> end_deadline_;  // once the job is over
  bool steps_killed_ = false;            // at that deadline
};

}  // namespace ddprun
