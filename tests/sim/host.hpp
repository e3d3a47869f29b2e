// A pretended machine: the agent and, on the first host, the coordinator, as they ship, with
// pretended processes, clock, guard and connections around them.
#pragma once

#include "launcher/agent.hpp"
#include "launcher/uplink.hpp"
#include "rendezvous/coordinator.hpp"
#include "rendezvous/roster.hpp"
#include "tests/sim/network.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ddprun::sim {

struct HostOptions {
  int index = 0;
  bool has_place = false;  ///< Its agent is given its place in the order of nodes.
  int worker_count = 1;
  std::int64_t drift_ppm = 0;
  Millis kill_max{300};  ///< From SIGKILL to the last process's end.
  LeaseTimes times;
  CoordinatorOptions coordinator;
};

class Cluster;

class Host {
 public:
  Host(Cluster& cluster, HostOptions options);

  // What may happen to it.
  void power_on();
  void power_off();         ///< Nothing is sent any more, not even a FIN.
  void kill_agent();        ///< The guard kills the workers, the kernel closes the connections.
  void pause(Millis time);  ///< SIGSTOP of the agent; guard and workers go on.
  void worker_fails();
  void workers_succeed();

  [[nodiscard]] bool on() const { return on_; }
  [[nodiscard]] bool paused() const { return paused_; }
  /// Of the generation whose workers live here; or null.
  [[nodiscard]] const Part* living() const { return alive_ > 0 ? &part_ : nullptr; }
  [[nodiscard]] int alive() const { return alive_; }
  [[nodiscard]] const std::optional<Outcome>& outcome() const { return outcome_; }
  [[nodiscard]] const Coordinator* coordinator() const { return coordinator_.get(); }

 private:
  /// A connection, as either end knows it.
  struct Line {
    SessionId session = 0;
    ConnectionId connection = 0;
    int agent = 0;  // the host that made it
    std::uint64_t boot = 0;
    Network::PipePtr up;
    Network::PipePtr down;
  };

  [[nodiscard]] Instant local_now() const;
  [[nodiscard]] Instant global(Instant local) const;
  void post(std::function<void()> what);
  void drain();
  /// `what`, unless this start of the host is over by then; later while it is paused.
  [[nodiscard]] std::function<void()> mine(std::function<void()> what);
  void feed(const AgentEvent& event);
  void feed(const UplinkEvent& event);
  void feed(const RosterEvent& event);
  void feed(const CoordinatorEvent& event);
  void perform(const AgentAction& action);
  void perform(const UplinkAction& action);
  void perform(const RosterAction& action);
  void perform(const CoordinatorAction& action);
  void connect(ConnectionId connection);
  void disconnect(ConnectionId connection);
  void accept(Line line);
  void settle();
  void time_out();
  void spawn(const Part& part);
  void signal_workers();
  void kill_workers();
  void end_workers(int count, WorkerEnd end);
  void guard_lease();

  Cluster& cluster_;
  HostOptions options_;
  bool on_ = false;
  bool paused_ = false;
  std::uint64_t boot_ = 0;  // counts starts: what belongs to an earlier one is not delivered
  std::uint64_t alarm_ = 0;
  std::deque<std::function<void()>> inbox_;  // grows while paused
  bool timer_due_ = false;
  bool draining_ = false;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<Uplink> uplink_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<Roster> roster_;
  std::map<ConnectionId, Line> lines_;  // of the agent
  std::map<SessionId, Line> sessions_;  // of the coordinator
  Part part_;
  int alive_ = 0;
  bool sweeping_ = false;
  std::optional<Instant> guarded_until_;
  std::optional<Outcome> outcome_;
};

}  // namespace ddprun::sim
