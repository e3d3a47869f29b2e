// A single-node job without processes: the agent and the coordinator joined as in a Node, with
// pretended workers, a pretended store and a clock that moves only when told to.
//
// It checks the promises of the whole after each event; what does not hold is kept in `broken()`:
//   W1  a generation starts only where no process of another lives, with an open store
//   W2  generation numbers grow by one, at most one generation more than the budget of restarts,
//       and none after a request to stop
//   W3  a store is open once, and never closes under a living worker
//   W4  the job exits once, does nothing afterwards, and leaves no process but one that SIGKILL did
//       not end within the patience
//   W5  success means that all workers of the last generation succeeded; a reported failure is the
//       first one of the last generation
#pragma once

#include "launcher/node/agent.hpp"
#include "rendezvous/event_queue.hpp"
#include "rendezvous/generations/coordinator.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ddprun {

struct WorldOptions {
  int worker_count = 2;
  int restarts_max = 0;
  Millis grace{10'000};
  Millis restart_grace{1'000};
  Millis kill_patience{5'000};
  Millis own_signal_patience{500};
  bool shares_terminal = false;
  bool records = true;                    ///< Off: no trace, for speed.
  std::set<int> refused;                  ///< Local ranks that the system refuses to fork.
  std::optional<int> stores_before_none;  ///< After so many, no store can be opened.
  friend bool operator==(const WorldOptions&, const WorldOptions&) = default;
};

class World {
 public:
  explicit World(WorldOptions options);

  // What may happen in it.
  void worker_ends(int local_rank, WorkerEnd end);
  /// Several ends that the system tells of at once: all are queued before any is acted upon.
  void workers_end(const std::vector<std::pair<int, WorkerEnd>>& ends);
  void signal_arrives(int signal, bool from_terminal = false);
  void guard_dies();
  void all_die();  ///< Every living worker, by SIGKILL.
  void time_passes(Millis time);
  /// Moves the clock to the next deadline; false if there is none.
  bool deadline_comes();

  [[nodiscard]] bool alive(int local_rank) const { return living_.contains(local_rank); }
  [[nodiscard]] bool any_alive() const { return !living_.empty(); }
  [[nodiscard]] bool killing() const { return sweeping_since_.has_value(); }
  [[nodiscard]] int generations() const { return static_cast<int>(part_.number.value); }
  [[nodiscard]] const std::optional<Outcome>& outcome() const { return outcome_; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::optional<Instant> next_deadline() const;
  [[nodiscard]] std::string reason() const { return coordinator_.reason(); }
  [[nodiscard]] const std::vector<std::string>& broken() const { return broken_; }

  /// The actions since the last call, each with its time.
  [[nodiscard]] std::vector<std::string> take_trace();

  friend bool operator==(const World&, const World&) = default;

 private:
  struct Event {
    std::variant<AgentEvent, CoordinatorEvent> what;
    friend bool operator==(const Event&, const Event&) { return true; }  // drained between calls
  };

  void dispatch(std::variant<AgentEvent, CoordinatorEvent> event);
  void drain();
  void run(const AgentEvent& event);
  void run(const CoordinatorEvent& event);
  template <typename Action>
  void record(const Action& action);
  void perform(const BindStore&);
  void perform(const CloseStore&);
  void perform(const LookAtSnapshot&) {}
  void perform(const SpawnWorkers& spawn);
  void perform(const SignalWorkers&);
  void perform(const AskToSave&);
  void perform(const KillAll&);
  void perform(const Suspend&) {}
  void perform(const AskForSuspension&) {}
  void perform(const NeedNoLease&) {}
  void perform(const TellCoordinator& tell);
  void perform(const Note&) {}
  void perform(const ExitWith& exit);
  void perform(const HurryEnd&) {}
  void remember_end(int local_rank, int pid, const WorkerEnd& end);
  void expect(bool holds, const char* rule);
  void reap();

  WorldOptions options_;
  Agent agent_;
  Coordinator coordinator_;
  Instant now_;
  EventQueue<Event> events_;
  Part part_;
  std::map<int, int> living_;  // local rank to pid
  std::set<int> succeeded_;
  std::optional<WorkerFailure> first_failure_;
  std::optional<Instant> sweeping_since_;
  bool store_open_ = false;
  int stores_ = 0;
  bool stop_requested_ = false;
  bool guard_lost_ = false;
  std::optional<Outcome> outcome_;
  std::vector<std::string> trace_;
  std::vector<std::string> broken_;
};

}  // namespace ddprun
