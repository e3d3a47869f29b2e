// A node's whole part in a job, as one machine: its agent, what connects that to the coordinator
// (the participant, or in a job of one node the coordinator itself), the notice of its lease to
// the guard, and the last steps of its process. A pure state machine, which the supervisor and the
// simulator run alike.
//
// Order
//   A machine's message to another waits until all actions of the sender's event are done. None is
//   left when `on_event` returns. Only the lease notice is told at once.
// Invariants
//   N1  The guard knows a lease before workers start under it.
//   N2  The agent hears of the end of the lease before the ends of workers: the guard may have
//       killed those workers.
//   N3  If several workers ended together, the agent hears of all before any of these ends has an
//       effect.
#pragma once

#include "launcher/guard/lease_notice.hpp"
#include "launcher/link/link_action.hpp"
#include "launcher/node/agent.hpp"
#include "launcher/node/last_steps.hpp"
#include "launcher/node/local_coordinator.hpp"
#include "rendezvous/membership/participant.hpp"

#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

/// What a look at this node's processes has found.
struct Reaped {
  std::vector<WorkerEnded> ended;
  std::optional<SaveAnswered> saved;  ///< One that has ended had answered before.
  bool all_gone = false;              ///< After KillAll: no descendant is left.
  bool lacks_terminal = false;        ///< See WorkerLacksTerminal.
  [[nodiscard]] bool is_empty() const {
    return ended.empty() && !saved && !all_gone && !lacks_terminal;
  }
};
/// What happens on the node.
using LocalEvent = std::variant<StoreBound,
                                StoreUnavailable,
                                SnapshotSeen,
                                SaveAnswered,
                                WorkerHung,
                                Reaped,
                                SignalArrived,
                                Resumed,
                                GuardLost,
                                TimeIsUp,
                                GiveUp>;
/// What the last steps wait for.
using LastStepAnswer = std::variant<StepsEnded, QueueAnswered>;
using NodeEvent = std::variant<Timeout, LocalEvent, ParticipantEvent, LastStepAnswer>;

/// For workers, their store and their snapshot.
using LocalAction = std::variant<BindStore,
                                 CloseStore,
                                 LookAtSnapshot,
                                 SpawnWorkers,
                                 SignalWorkers,
                                 AskToSave,
                                 KillAll,
                                 Suspend,
                                 AskForSuspension>;
/// TellOthers asks the shell only to start no more agents: the node itself tells the others.
using NodeAction =
    std::variant<Note, GuardedLease, WillIsFor, LocalAction, LinkAction, LastStepAction>;

/// Sees the events of each machine of a node, and its actions before they are performed.
class NodeObserver : public ParticipantObserver {
 public:
  using ParticipantObserver::answered;
  using ParticipantObserver::told;
  virtual void told(const Agent&, const AgentEvent&) {}
  virtual void answered(const Agent&, const std::vector<AgentAction>&) {}
};

/// What connects an agent to its coordinator. Each reports to its observer.
using Membership = std::variant<Participant, LocalCoordinator>;

class Node {
 public:
  using Actions = std::vector<NodeAction>;

  /// `observer` outlives this; `membership` has the same one.
  Node(Agent agent, Membership membership, LastSteps last_steps, NodeObserver& observer);

  /// The first actions: call once, before any event.
  void start(Instant now, Actions& out);

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws; total.
  void on_event(Instant now, const NodeEvent& event, Actions& out);

  /// When to call again with Timeout.
  [[nodiscard]] std::optional<Instant> next_deadline() const;

  [[nodiscard]] const Agent& agent() const { return agent_; }
  /// Null in a job of one node.
  [[nodiscard]] const Participant* participant() const {
    return std::get_if<Participant>(&membership_);
  }
  /// Null while another process coordinates, or none.
  [[nodiscard]] const Coordinator* coordinator() const;

  /// What the job cannot go on without, as far as this node knows. Its own workers, of which it can
  /// say more, come before all else.
  [[nodiscard]] Wait waits() const;
  /// The same for people. Takes as long as there are nodes to look at, so not after each event.
  [[nodiscard]] std::string waits_for(Instant now) const;

  /// Of the newest lease, also if that is over. Nothing: none was granted yet, or none is needed.
  [[nodiscard]] std::optional<Instant> lease_end() const { return lease_.end(); }

  /// How the process ends as far as is known; nothing until it is to end.
  [[nodiscard]] const std::optional<Outcome>& outcome() const { return last_steps_.outcome(); }

 private:
  using Inner = std::variant<AgentEvent, ParticipantEvent, LastStepEvent>;

  void hear(Instant now, const LocalEvent& event, Actions& out);
  void hear(Instant now, const Reaped& reaped, Actions& out);
  void hear(Instant now, const GuardLost& lost, Actions& out);
  void tell(Instant now, const AgentEvent& event, Actions& out);
  void tell(Instant now, const ParticipantEvent& event, Actions& out);
  void tell(Instant now, const LastStepEvent& event, Actions& out);
  void perform(AgentAction& action, Actions& out);
  void perform(ParticipantAction& action, Actions& out);
  void perform(LastStepAction& action, Actions& out);
  void workers_are_gone(Actions& out);
  void settle(Instant now, Actions& out);

  Agent agent_;
  Membership membership_;
  LeaseNotice lease_;
  LastSteps last_steps_;
  NodeObserver& observer_;
  std::deque<Inner> later_;      // what its machines tell each other
  bool processes_left_ = false;  // of workers, as far as is known
};

}  // namespace ddprun
