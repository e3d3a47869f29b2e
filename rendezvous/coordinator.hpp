// The coordinator: who is in which generation, when one ends, whether another follows.
//
// It exists once per job, so that "restart" is one decision of the job and never one of every node.
// Agents tell it what happens on their nodes; it answers with what each of them has to do.
//
// States
//   forming   waits until enough nodes have joined
//   running   a generation lives
//   ending    its members have been told to stop; each confirms by joining once more, or is lost
//   finished  the verdict has been given; whoever joins now is told it
// Invariants
//   C1  A generation starts only when every member of the one before has joined after its end, or
//       was lost: no two generations are ever alive at once.
//   C2  Generation numbers only grow.
//   C3  Ranks are 0 … world size - 1, follow the order of nodes, and each exists once.
//   C4  Only a worker's failure spends the restart budget, and a generation spends at most one;
//       none where a node was lost, since that is what made workers fail.
//   C5  The failure reported is the first one of its generation; later ones are its victims.
//   C6  Every StartGeneration is followed by exactly one verdict on that generation, and every node
//       that joined is told the job's outcome once.
// Bounds
//   At most one offer and one action per node and event, and one note.
#pragma once

#include "rendezvous/gathering.hpp"
#include "rendezvous/generation.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/worker_end.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

enum class JoinPolicy : std::uint8_t {
  now,    ///< A node that joins ends the generation, so that the next one has it.
  defer,  ///< It waits for the next one, whatever starts that.
};

struct CoordinatorOptions {
  GatheringOptions gathering;
  JoinPolicy join_policy = JoinPolicy::now;
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
  friend bool operator==(const Join&, const Join&) = default;
};
/// Nothing that was started there lives any more, and nothing comes from there until it joins anew.
struct NodeLost {
  NodeId node;
  std::string why;  ///< "silent for 4 s"
};
struct WorkerFailed {
  GenerationNumber generation;
  WorkerFailure failure;
  friend bool operator==(const WorkerFailed&, const WorkerFailed&) = default;
};
struct WorkerSucceeded {
  GenerationNumber generation;
  Rank rank;
  friend bool operator==(const WorkerSucceeded&, const WorkerSucceeded&) = default;
};
/// Somebody asked for the end of the job. Asked again while it ends, the grace is skipped.
struct StopRequested {
  int signal = 0;
  friend bool operator==(const StopRequested&, const StopRequested&) = default;
};
/// `next_deadline()` has come.
struct Timeout {};
using CoordinatorEvent =
    std::variant<Join, NodeLost, WorkerFailed, WorkerSucceeded, StopRequested, Timeout>;

struct StartGeneration {
  NodeId node;
  Part part;
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
  explicit Coordinator(CoordinatorOptions options)
      : options_(options), gathering_(options.gathering) {}

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws. Events of a generation that is not the current one change nothing.
  void on_event(Instant now, const CoordinatorEvent& event, std::vector<CoordinatorAction>& out);

  /// When to call again with Timeout, or nothing while only an event can change anything.
  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// Why things are as they are: "waiting: 1 of 2 nodes joined".
  [[nodiscard]] std::string reason() const;

  /// How the job has ended, once every node that joined was told.
  [[nodiscard]] std::optional<Outcome> outcome() const {
    return state_ == State::finished ? outcome_ : std::nullopt;
  }

  friend bool operator==(const Coordinator&, const Coordinator&) = default;

 private:
  enum class State : std::uint8_t { forming, running, ending, finished };
  using Actions = std::vector<CoordinatorAction>;

  void on(Instant now, const Join& join, Actions& out);
  void on(Instant now, const NodeLost& lost, Actions& out);
  void on(Instant now, const WorkerFailed& failed, Actions& out);
  void on(Instant now, const WorkerSucceeded& succeeded, Actions& out);
  void on(Instant now, const StopRequested& request, Actions& out);
  void on(Instant now, const Timeout& timeout, Actions& out);

  [[nodiscard]] bool lives_on(NodeId node) const;
  [[nodiscard]] std::optional<Outcome> verdict() const;
  void consider_joiners(Instant now, Actions& out);
  void interrupt(std::string cause, Actions& out);
  void stop(int signal, Millis grace, Actions& out);
  void conclude(Instant now, Actions& out);
  void form(Instant now, Actions& out);
  void say_who_is_here(Actions& out);
  [[nodiscard]] std::string hosts_ready() const;
  void start(Actions& out);
  void give_up(Actions& out);
  void name_stragglers(Actions& out);
  void finish(Actions& out);

  CoordinatorOptions options_;
  State state_ = State::forming;
  Gathering gathering_;
  std::size_t hosts_told_ = 0;            // when it was said last who has joined
  Generation current_;                    // the newest generation; number 0 before the first
  std::set<NodeId> stopped_;              // members of it that have joined since, or were lost
  bool member_lost_ = false;              // of those, one that had not joined
  std::set<Rank> succeeded_;              // of it
  std::optional<WorkerFailure> failure_;  // the first one of it
  std::optional<Instant> straggler_deadline_;
  std::optional<Instant> last_call_;  // for nodes that join while it runs
  int failures_ = 0;                  // spent budget
  std::string cause_ = "start";       // of the next one
  std::optional<Outcome> outcome_;    // set once no further generation will follow
};

}  // namespace ddprun
