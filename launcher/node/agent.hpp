// The agent: one node's side of a job. It starts the workers of a generation, reports how they end,
// and stops them when the coordinator says so.
//
// States
//   binding   opens a store for the next generation, and looks for the newest snapshot; the end may
//             come even so, since the coordinator knew of this node while it was stuck
//   joined    offered to the coordinator; waits for a generation or for the job's end
//   running   workers live
//   stopping  workers were signalled and may use the grace to end
//   killing   every descendant was sent SIGKILL; waits until none is left
//   stuck     some processes cannot end, which the coordinator knows; waits until they have ended
//   finished  the process is about to exit; signals may hurry it
// Invariants
//   A1  No generation starts on this node before every process of the one before is gone.
//   A2  A worker's end is told to the coordinator at most once, and only while its generation runs;
//       after one that hangs no other.
//   A3  Once the guard is lost, no process outlives this one.
//   A4  A store closes only after the last process that may use it is gone.
//   A5  The end of the job, or of this node's part in it, is told once, and so is heeded in each
//       state in which it may come: `binding`, `joined` and `stuck`.
// Bounds
//   One wait at a time, and in `running` one more, before it is told that no worker can save; each
//   with a deadline except `running`, `joined` and `stuck` themselves, which only
//   events end.
#pragma once

#include "launcher/processes/kill_patience.hpp"
#include "launcher/progress/hang_watch.hpp"
#include "launcher/progress/progress.hpp"
#include "launcher/workers/terminal_owner.hpp"
#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/machine_events.hpp"
#include "rendezvous/membership/link_events.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/same_request.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/worker_end.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

struct AgentOptions {
  std::string host;
  std::vector<IpAddress> addresses;  ///< From which its workers may come to other nodes.
  bool witness = false;              ///< It has no workers, and needs no store.
  int worker_count = 1;              ///< 0 of a witness.
  std::set<int> stopping_signals;    ///< They ask for the job's end, as SIGTERM does.
  std::set<int> snapshot_signals;    ///< By them workers are asked for a snapshot.
  std::set<int> leaving_signals;     ///< They ask for the end of this node alone.
  std::set<int> evicting_signals;    ///< As these, unless the other nodes get them as well.
  TerminalOwner terminal;            ///< It is in the terminal's foreground group, as we are.
  bool can_be_suspended = false;     ///< No other node takes it for lost.
  bool sees_snapshots = false;       ///< The shell knows where they are.
  Millis snapshot_patience{200};     ///< From LookAtSnapshot; a filesystem may stall.
  Millis kill_patience = ddprun::kill_patience;
  /// scancel and terminals may signal workers before they signal us.
  Millis own_signal_patience{500};
  /// A key may reach the worker that has the terminal before it reaches us.
  Millis key_patience{50};
  /// A worker closes what it has when it dies, and the end itself is seen a little later.
  Millis exit_patience{100};
  /// A worker that has the terminal and fails so soon after ctrl-C was ended by it.
  Millis interrupt_patience{10'000};
  /// Ctrl-C three times within it is for the job, too, not for that worker alone.
  Millis insistence{2'000};
  friend bool operator==(const AgentOptions&, const AgentOptions&) = default;
};

struct StoreBound {
  std::uint16_t port = 0;
  std::string address;  ///< By which other nodes reach it, and workers here.
};
struct StoreUnavailable {
  Error error;
};
/// After LookAtSnapshot.
struct SnapshotSeen {
  std::optional<SnapshotPosition> position;  ///< Nothing: it cannot be told.
};
/// After KillAll: no descendant is left.
struct AllGone {};
struct SignalArrived {
  int signal = 0;
  bool from_terminal = false;  ///< By a key: the terminal sent it to its whole foreground group.
};
/// After Suspend: the node goes on.
struct Resumed {
  Millis stopped_for{0};
};
/// The kernel has stopped the worker that has the terminal, since the shell has it now.
struct WorkerLacksTerminal {};
struct GuardLost {};
/// The batch system will soon end the job.
struct TimeIsUp {};
using AgentEvent = std::variant<StoreBound,
                                StoreUnavailable,
                                SnapshotSeen,
                                StartGeneration,
                                StopGeneration,
                                SaveGeneration,
                                SaveAnswered,
                                FinishJob,
                                WorkerEnded,
                                WorkerHung,
                                AllGone,
                                SignalArrived,
                                Resumed,
                                WorkerLacksTerminal,
                                GuardLost,
                                TimeIsUp,
                                LeaseEnded,
                                LifeEnded,
                                GiveUp,
                                Timeout>;

struct BindStore {
  friend bool operator==(const BindStore&, const BindStore&) = default;
};
struct CloseStore {
  friend bool operator==(const CloseStore&, const CloseStore&) = default;
};
/// Answer SnapshotSeen, sooner or later.
struct LookAtSnapshot {
  friend bool operator==(const LookAtSnapshot&, const LookAtSnapshot&) = default;
};
struct SpawnWorkers {
  Part part;
  friend bool operator==(const SpawnWorkers&, const SpawnWorkers&) = default;
};
/// Of this node; of a process that started other nodes' agents, the workers of those.
struct SignalWorkers {
  int signal = 0;
  friend bool operator==(const SignalWorkers&, const SignalWorkers&) = default;
};
/// Ask those that can be asked to save; if the coordinator wants it, answer SaveAnswered.
struct AskToSave {
  std::optional<int> signal;  ///< That a user has sent; nothing: the coordinator wants it.
  friend bool operator==(const AskToSave&, const AskToSave&) = default;
};
/// SIGKILL to every descendant, again and again until none is left; then answer AllGone.
struct KillAll {
  friend bool operator==(const KillAll&, const KillAll&) = default;
};
/// Its workers got SIGKILL and are stuck in the kernel: they execute nothing any more.
struct NeedNoLease {
  friend bool operator==(const NeedNoLease&, const NeedNoLease&) = default;
};
struct TellCoordinator {
  News news;
};
/// Stop the workers and this program until somebody continues it; then answer Resumed.
struct Suspend {
  friend bool operator==(const Suspend&, const Suspend&) = default;
};
/// Have the guard pass on SIGTSTP as by ctrl-Z: SignalArrived follows.
struct AskForSuspension {
  friend bool operator==(const AskForSuspension&, const AskForSuspension&) = default;
};
/// Print the outcome and exit with its status.
struct ExitWith {
  Outcome outcome;
  friend bool operator==(const ExitWith&, const ExitWith&) = default;
};
/// End the process sooner: a signal has asked for that after ExitWith.
struct HurryEnd {
  int signal = 0;
  friend bool operator==(const HurryEnd&, const HurryEnd&) = default;
};
using AgentAction = std::variant<BindStore,
                                 CloseStore,
                                 LookAtSnapshot,
                                 SpawnWorkers,
                                 SignalWorkers,
                                 AskToSave,
                                 KillAll,
                                 NeedNoLease,
                                 Suspend,
                                 AskForSuspension,
                                 TellCoordinator,
                                 Note,
                                 ExitWith,
                                 HurryEnd>;

class Agent {
 public:
  explicit Agent(AgentOptions options) : options_(std::move(options)) {}

  /// The first actions: call once, before any event.
  void start(std::vector<AgentAction>& out);

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws; total: an event that means nothing in the present state changes nothing.
  void on_event(Instant now, const AgentEvent& event, std::vector<AgentAction>& out);

  /// When to call again with Timeout, or nothing while only an event can change anything.
  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// It waits to be told to start workers, or that the job is over.
  [[nodiscard]] bool has_joined() const { return state_ == State::joined; }

  /// It cannot go on before workers of it have ended.
  [[nodiscard]] bool ends_workers() const {
    return state_ == State::stopping || state_ == State::killing;
  }
  [[nodiscard]] bool kills_workers() const { return state_ == State::killing; }
  /// What it waits for then, or once it has joined a coordinator elsewhere; for people.
  [[nodiscard]] std::string waits_for(Instant now) const;

  /// Its worker that has the terminal, while that lives.
  [[nodiscard]] std::optional<LocalRank> terminal_worker() const;

  friend bool operator==(const Agent&, const Agent&) = default;

 private:
  enum class State : std::uint8_t { binding, joined, running, stopping, killing, stuck, finished };
  using Actions = std::vector<AgentAction>;

  void on(Instant now, const StoreBound& bound, Actions& out);
  void on(Instant now, const StoreUnavailable& failed, Actions& out);
  void on(Instant now, const SnapshotSeen& seen, Actions& out);
  void on(Instant now, const StartGeneration& start, Actions& out);
  void on(Instant now, const StopGeneration& stop, Actions& out);
  void on(Instant now, const SaveGeneration& save, Actions& out);
  void on(Instant now, const SaveAnswered& answered, Actions& out);
  void on(Instant now, const FinishJob& finish, Actions& out);
  void on(Instant now, const WorkerEnded& ended, Actions& out);
  void on(Instant now, const WorkerHung& hung, Actions& out);
  void on(Instant now, const AllGone& gone, Actions& out);
  void on(Instant now, const SignalArrived& arrived, Actions& out);
  void on(Instant now, const Resumed& resumed, Actions& out);
  void on(Instant now, const WorkerLacksTerminal&, Actions& out) const;
  void on(Instant now, const GuardLost& lost, Actions& out);
  void on(Instant now, const TimeIsUp&, Actions& out);
  void on(Instant now, const LeaseEnded& ended, Actions& out);
  void on(Instant now, const LifeEnded& ended, Actions& out);
  void on(Instant now, const GiveUp& given_up, Actions& out);
  void on(Instant now, const Timeout& timeout, Actions& out);

  [[nodiscard]] bool asks_to_stop(int signal) const;
  void say_request(int signal, Actions& out) const;
  void hurry(Instant now, int signal, Actions& out) const;
  void request_stop(Instant now, int signal, Actions& out);
  [[nodiscard]] bool leaves_by(int signal) const;
  void suspend(Actions& out) const;
  [[nodiscard]] bool leave_to_worker(Instant now, Actions& out);
  [[nodiscard]] bool answers_interrupt(Instant now, const WorkerEnded& ended) const;
  void say_why(const StopGeneration& stop, Actions& out) const;
  void say_hung(const WorkerHung& hung, Actions& out) const;
  [[nodiscard]] std::string why_it_waits() const;
  void say_none_ran(const FinishJob& finish, Actions& out) const;
  void bind(Instant now, Actions& out);
  void join_if_ready(Actions& out);
  void join(Actions& out);
  void report(const WorkerEnded& ended, Actions& out) const;
  void report_save(std::optional<std::int64_t> step, Actions& out);
  void kill_all(Instant now, Actions& out);
  void tell_of_stuck(Actions& out) const;
  [[nodiscard]] std::string alive_text() const;
  [[nodiscard]] std::string stuck_text() const;
  [[nodiscard]] Outcome stuck_outcome() const;
  void close_store(Actions& out);
  void exit_with(Outcome outcome, Actions& out);

  AgentOptions options_;
  State state_ = State::binding;
  std::optional<Instant> deadline_;
  StopGeneration stop_;                 // the newest one that was heeded
  Part part_;                           // in the newest generation; number 0 before the first
  GenerationNumber newest_told_;        // to start or to stop, in this life
  NodeId node_;                         // its place in the order of nodes, once it was told
  bool has_started_ = false;            // workers, once
  std::set<LocalRank> alive_;           // workers of it that have not ended
  std::set<int> signals_sent_;          // to them
  std::optional<StopSignal> asked_;     // the newest request for an end
  bool asked_to_leave_ = false;         // then, and that of this node alone
  int terminal_signal_ = 0;             // the newest one that came from a key
  std::optional<Instant> interrupted_;  // the newest ctrl-C that was left to a worker
  Instant insists_since_;               // the first of those that came one soon after the other
  int insists_ = 0;                     // how many they are
  bool reports_save_ = false;           // the coordinator waits for an answer
  std::optional<Instant> in_vain_at_;   // when it is told that no worker can be asked
  bool has_hung_worker_ = false;        // in that generation, which the coordinator knows
  std::optional<WorkerEnded> held_;     // a death that may turn out to be the end of the whole job
  std::uint16_t store_port_ = 0;        // 0: none is open
  std::string store_address_;
  std::string store_error_;   // why none is open
  bool store_tried_ = false;  // for the next generation
  bool looks_ = false;        // at the newest snapshot, still
  std::optional<SnapshotPosition> snapshot_;
  bool guard_lost_ = false;
  std::optional<Outcome> given_up_;  // set once this node ends without being told by a coordinator
};

}  // namespace ddprun
