// The coordinator: decides the members of each generation, its end, and whether another follows.
//
// It exists once per job, so that "restart" is one decision of the job and never one of every node.
// Agents report events on their nodes; it answers with an instruction for each of them.
//
// States
//   forming   waits until enough nodes have joined, and before that for as long as the restart
//             policy says
//   deciding  the next generation waits until its voters have accepted it
//   running   a generation lives
//   ending    its members have been told to stop; each confirms by joining once more, or is lost
//   finished  the outcome is known; nodes that join now get it
// Invariants
//   C1  A generation starts only when every member of the one before has joined after its end, was
//       lost, or has only processes left that SIGKILL has reached and that are stuck
//       inside the kernel: no two generations ever run at once.
//   C2  Generation numbers only grow.
//   C3  Ranks are 0 … world size - 1, follow the order of nodes, and each exists once.
//   C4  Only a worker's failure spends the restart budget, and a generation spends at most one;
//       none if a node was lost, since the loss made workers fail.
//   C5  The failure reported is the first one of its generation; later ones are its victims.
//   C6  Every StartGeneration is followed by exactly one verdict on that generation, and every node
//       that joined, or is stuck, is told the job's outcome once.
//   C7  If voters decide, no generation starts before they have. All proposals together
//       wait for them no longer than `replace_timeout`, or the job ends here. Marks stay where
//       voters that did not answer may go on elsewhere.
//   C8  If nodes join and leave for `settle_timeout`, and no generation runs for `settled_after`,
//       makes progress or fails, the job ends.
//   C9  A node that leaves is no member of a later generation. If its vote may be needed for the
//       next one, it is told to end only when that starts, or with the job.
//   C10 It hands over only when no worker lives and another node can go on, and forms no generation
//       any more.
//   C11 By JoinPolicy::snapshot a generation ends for nodes that joined only once a worker has
//       saved since, no member has one that can be asked, or `save_patience` is over.
// Bounds
//   At most one offer and one action per node and event, and three notes.
#pragma once

#include "rendezvous/generations/coordinator_events.hpp"
#include "rendezvous/generations/gathering.hpp"
#include "rendezvous/generations/generation.hpp"
#include "rendezvous/generations/leavers.hpp"
#include "rendezvous/generations/restart_policy.hpp"
#include "rendezvous/generations/set_aside.hpp"
#include "rendezvous/outcome.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/wait.hpp"
#include "rendezvous/worker_end.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ddprun {

enum class JoinPolicy : std::uint8_t {
  now,       ///< A node that joins ends the generation, so that the next one has it.
  snapshot,  ///< The same once workers have saved, if any can be asked to.
  defer,     ///< It waits for the next one, whatever starts that.
};

struct CoordinatorOptions {
  GatheringOptions gathering;
  JoinPolicy join_policy = JoinPolicy::now;
  bool voters_decide = false;  ///< Over each generation, before it starts.
  bool voters_claim = false;   ///< They can go on without the founder from the first one on.
  bool anchored = false;       ///< Its witness alone votes: the job ends with that process.
  RestartOptions restarts;
  Millis grace{10'000};  ///< From the first signal to SIGKILL when asked to end.
  std::set<int>
      saving_signals;  ///< After an end by these, as where its time is up, the job is to go on.
  Millis save_grace{10'000};       ///< Instead of `grace` then.
  Millis save_patience{120'000};   ///< For workers that are asked to save, and then to go on.
  Millis leave_wait{1'000};        ///< For other nodes to ask to leave by the same signal.
  Millis restart_grace{1'000};     ///< Instead of `grace` for what is left of a failed generation.
  Millis straggler_after{30'000};  ///< From the first success until those still running are named.
  Millis settle_timeout{600'000};  ///< How long nodes may come and go before the job ends.
  Millis settled_after{30'000};    ///< After a generation of this length that time begins anew.
  Millis undecided_after{5'000};   ///< After which it is said that the voters have not agreed.
  friend bool operator==(const CoordinatorOptions&, const CoordinatorOptions&) = default;
};

class Coordinator {
 public:
  explicit Coordinator(CoordinatorOptions options)
      : options_(options), gathering_(options.gathering), restarts_(options.restarts) {}

  /// Continues after a lost coordinator: ends the generation that it may have started, and
  /// forms the next. A node that joins this coordinator has no worker of that generation left, nor
  /// have those that are gone.
  Coordinator(CoordinatorOptions options,
              const Generation& inherited,
              const Legacy& legacy,
              std::string cause);

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws. Events of a generation that is not the current one change nothing.
  void on_event(Instant now, const CoordinatorEvent& event, std::vector<CoordinatorAction>& out);

  /// When to call again with Timeout, or nothing while only an event can change anything.
  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// The generation that waits for `Decided`; changes with each event.
  [[nodiscard]] const std::optional<Generation>& proposal() const { return proposal_; }

  [[nodiscard]] const SetAside& set_aside() const { return aside_; }

  /// The newest generation; number 0 before the first.
  [[nodiscard]] const Generation& newest() const { return current_; }

  enum class State : std::uint8_t { forming, deciding, running, ending, finished };
  [[nodiscard]] State state() const { return state_; }

  /// The state as text: "waiting: 1 of 2 nodes joined".
  [[nodiscard]] std::string reason() const;
  [[nodiscard]] Wait waits() const;
  /// For people: "nodes: 1 of 2 have joined: n0"; empty where it waits for nothing.
  [[nodiscard]] std::string waits_for() const;

  friend bool operator==(const Coordinator&, const Coordinator&) = default;

 private:
  using Actions = std::vector<CoordinatorAction>;

  void on(Instant now, const Join& join, Actions& out);
  void on(Instant now, const NodeLost& lost, Actions& out);
  void on(Instant now, const WorkerFailed& failed, Actions& out);
  void on(Instant now, const WorkerSucceeded& succeeded, Actions& out);
  void on(Instant now, const StoreUnreachable& unreachable, Actions& out);
  void on(Instant now, const WorkersStuck& stuck, Actions& out);
  void on(Instant now, const StopRequested& request, Actions& out);
  void on(Instant now, const LeaveRequested& request, Actions& out);
  void on(Instant now, const SaveReported& report, Actions& out);
  void on(Instant now, const LeadKept&, Actions& out);
  void note_asked(Instant now, const StopRequested& request);
  [[nodiscard]] bool is_same_request(Instant now, const StopRequested& request) const;
  void stop_sooner(Instant now, const StopRequested& request, Actions& out);
  void on(Instant now, const Decided& decided, Actions& out);
  void on(Instant now, const MarkFound& found, Actions& out);
  void on(Instant now, const Timeout& timeout, Actions& out);

  [[nodiscard]] bool lives_on(NodeId node) const;
  [[nodiscard]] std::optional<Outcome> verdict(Instant now) const;
  void consider_joiners(Instant now, Actions& out);
  void ask_to_save(Instant now, Actions& out);
  void end_for_joiners(std::string note, Millis grace, Actions& out);
  [[nodiscard]] bool can_still_save() const;
  void give_up_saving(Actions& out);
  void interrupt(std::string cause, Actions& out);
  [[nodiscard]] Millis restart_grace() const;
  void stop(int signal, Millis grace, const std::string& why, Actions& out);
  void conclude(Instant now, Actions& out);
  void restart(Instant now, Actions& out);
  void form(Instant now, Actions& out);
  void say_who_is_here(Instant now, Actions& out);
  [[nodiscard]] std::string not_seen() const;
  [[nodiscard]] std::string details_of_wait() const;
  void propose(Instant now, Actions& out);
  void withdraw(Instant now);
  void put_back();
  void settle();
  void give_up_for(std::string why, Actions& out);
  void note_newcomers(const Generation& next);
  void note_repeated_host(const Generation& next, Actions& out) const;
  [[nodiscard]] bool enough_without(NodeId node) const;
  void stop_with_last(Instant now, const LeaveRequested& request, Actions& out);
  void let_go(Instant now, const LeaveRequested& request, Actions& out);
  void leave_with_lead(Instant now, const LeaveRequested& request, Actions& out);
  void hand_over(Actions& out);
  void end_with_lead(Actions& out);
  void let_leave(Actions& out, std::optional<NodeId> only = {});
  [[nodiscard]] bool may_go_on_elsewhere() const;
  void start(Instant now, Generation next, Actions& out);
  void give_up(Actions& out);
  [[nodiscard]] Instant give_up_deciding_at() const;
  void give_up_deciding(Actions& out);
  void give_up_settling(Actions& out);
  void name_stragglers(Actions& out);
  void finish(Actions& out);

  /// Members are asked to save before their generation ends for nodes that joined.
  struct Saving {
    Instant since;
    Instant until;
    std::set<NodeId> in_vain;  // they have no worker that can be asked
    friend bool operator==(const Saving&, const Saving&) = default;
  };

  CoordinatorOptions options_;
  State state_ = State::forming;
  Gathering gathering_;
  std::map<NodeId, Offer> witnesses_;  // they vote, and get the job's outcome
  RestartPolicy restarts_;
  SetAside aside_;
  std::map<NodeId, WorkersStuck> stuck_;  // nodes that have not joined since
  std::size_t hosts_told_ = 0;            // nodes that had joined when it was last printed
  Generation current_;                    // the newest generation; number 0 before the first
  bool inherited_ = false;                // from a coordinator that was lost
  std::optional<Generation> proposal_;    // of the next one
  GenerationNumber newest_number_;        // ever given
  std::set<NodeId> stopped_;              // members of current_ that have joined again or were lost
  bool member_lost_ = false;              // one was lost before it had joined again
  std::set<NodeId> lost_;                 // members of current_ that have not come back
  std::set<Rank> succeeded_;              // of current_
  std::optional<WorkerFailure> failure_;  // the first one of current_
  std::set<NodeId> newcomers_;            // to a store that others use, since the last progress
  Leavers leavers_;                       // nodes that are to end before the job does
  std::optional<Instant> leave_at_;       // unless others ask to leave, too
  bool ends_by_leave_ = false;            // since too few would be left
  bool voters_may_go_on_ = false;         // since it has given up to wait for them
  std::optional<int> hands_over_;         // the signal by which its own node leaves
  std::set<NodeId> left_out_;             // newcomers that cannot reach it, until they are lost
  std::optional<Instant> straggler_deadline_;
  std::optional<Instant> undecided_deadline_;  // to say that the voters take long
  Instant deciding_since_;
  Millis undecided_{0};                     // the time that earlier, withdrawn proposals waited
  std::optional<Instant> settle_deadline_;  // from the first proposal since the job was settled
  std::optional<Instant> settled_at_;       // the job is settled if the generation runs until then
  std::optional<Instant> last_call_;        // for nodes that join while it runs
  std::optional<Saving> saving_;            // and it ends for those once that is over
  std::optional<Instant> asked_;            // the newest request to end the job
  StopRequested asked_by_;                  // and its kind
  std::set<NodeId> askers_;                 // nodes where the end was asked for
  std::optional<Instant> resume_at_;        // the wait before a restart is over
  std::string cause_ = "start";             // of the next one
  std::optional<Outcome> outcome_;          // set once no further generation will follow
};

}  // namespace ddprun
