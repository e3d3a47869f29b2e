// The coordinator: who is in which generation, when one ends, whether another follows.
//
// It exists once per job, so that "restart" is one decision of the job and never one of every node.
// Agents tell it what happens on their nodes; it answers with what each of them has to do.
//
// States
//   forming   waits until every expected node has joined
//   running   a generation lives
//   ending    its members have been told to stop; each confirms by joining once more
//   finished  the verdict has been given; whoever joins now is told it
// Invariants
//   C1  A generation starts only when every member has joined after the end of the one before: no
//       two generations are ever alive at once.
//   C2  Generation numbers only grow.
//   C3  Ranks are 0 … world size - 1, follow the order of nodes, and each exists once.
//   C4  Only a worker's failure spends the restart budget, and a generation spends at most one.
//   C5  The failure reported is the first one of its generation; later ones are its victims.
//   C6  Every StartGeneration is followed by exactly one verdict on that generation, and every node
//       that joined is told the job's outcome once.
// Bounds
//   At most one offer and one action per node and event, and one note.
#pragma once

#include "rendezvous/generation.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/worker_end.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

struct CoordinatorOptions {
  int node_count = 1;              ///< Nodes that a generation consists of.
  int restarts_max = 0;            ///< Worker failures that the job survives.
  Millis grace{10'000};            ///< From the first signal to SIGKILL when asked to end.
  Millis restart_grace{1'000};     ///< The same for what is left of a failed generation.
  Millis straggler_after{30'000};  ///< From the first success until those still running are named.
  friend bool operator==(const CoordinatorOptions&, const CoordinatorOptions&) = default;
};

/// How the job ended, for everyone to exit with.
struct Outcome {
  int exit_status = 0;
  std::string text;  ///< "rank 1 (pid 7 on n1) exited with 3, after 2 of 2 restarts"
  std::optional<WorkerFailure> failure;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// A node is ready for the next generation; nothing of `done_with` or an older one lives on it.
struct Join {
  Offer offer;
  GenerationNumber done_with;
};
struct WorkerFailed {
  GenerationNumber generation;
  WorkerFailure failure;
};
struct WorkerSucceeded {
  GenerationNumber generation;
  Rank rank;
};
/// Somebody asked for the end of the job. Asked again while it ends, the grace is skipped.
struct StopRequested {
  int signal = 0;
};
/// `next_deadline()` has come.
struct Timeout {};
using CoordinatorEvent = std::variant<Join, WorkerFailed, WorkerSucceeded, StopRequested, Timeout>;

struct StartGeneration {
  NodeId node;
  Generation generation;
  friend bool operator==(const StartGeneration&, const StartGeneration&) = default;
};
/// Signal the workers, kill what is left after the grace, then join. Said again, the newer one
/// holds.
struct StopGeneration {
  NodeId node;
  GenerationNumber generation;
  int signal = 0;
  Millis grace;
  friend bool operator==(const StopGeneration&, const StopGeneration&) = default;
};
struct FinishJob {
  NodeId node;
  Outcome outcome;
  friend bool operator==(const FinishJob&, const FinishJob&) = default;
};
/// One line for people.
struct Note {
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};
using CoordinatorAction = std::variant<StartGeneration, StopGeneration, FinishJob, Note>;

class Coordinator {
 public:
  explicit Coordinator(CoordinatorOptions options) : options_(options) {}

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws. Events of a generation that is not the current one change nothing.
  void on_event(Instant now, const CoordinatorEvent& event, std::vector<CoordinatorAction>& out);

  /// When to call again with Timeout, or nothing while only an event can change anything.
  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// Why things are as they are: "waiting: 1 of 2 nodes joined".
  [[nodiscard]] std::string reason() const;

  friend bool operator==(const Coordinator&, const Coordinator&) = default;

 private:
  enum class State : std::uint8_t { forming, running, ending, finished };
  using Actions = std::vector<CoordinatorAction>;

  void on(Instant now, const Join& join, Actions& out);
  void on(Instant now, const WorkerFailed& failed, Actions& out);
  void on(Instant now, const WorkerSucceeded& succeeded, Actions& out);
  void on(Instant now, const StopRequested& request, Actions& out);
  void on(Instant now, const Timeout& timeout, Actions& out);

  void start(Actions& out);
  void stop(int signal, Millis grace, Actions& out);
  void finish(Actions& out);

  CoordinatorOptions options_;
  State state_ = State::forming;
  Generation current_;              // the newest generation; number 0 before the first
  std::map<NodeId, Offer> joined_;  // for the next one
  std::set<Rank> succeeded_;        // of the current one
  std::optional<Instant> straggler_deadline_;
  int failures_ = 0;  // spent budget
  std::string next_cause_ = "start";
  std::optional<Outcome> outcome_;  // set once no further generation will follow
};

}  // namespace ddprun
