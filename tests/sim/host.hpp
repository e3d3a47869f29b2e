// A pretended machine: a node as it ships, with pretended processes, clock, guard, folder and
// connections around it.
#pragma once

#include "launcher/guard/lease_watch.hpp"
#include "launcher/link/ballot_lines.hpp"
#include "launcher/node/node.hpp"
#include "tests/sim/causes.hpp"
#include "tests/sim/claim_folder.hpp"
#include "tests/sim/leases.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/story.hpp"

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
  bool founds = false;
  bool has_place = false;  ///< Its agent is given its place in the order of nodes.
  std::vector<std::string> other_doors;
  bool is_witness = false;
  int worker_count = 1;  ///< Of another than a witness.
  Snapshots snapshots = Snapshots::unseen;
  std::int64_t drift_ppm = 0;
  Millis kill_min{1};
  Millis kill_max{300};  ///< From SIGKILL to the last process's end.
  Millis save_max{0};    ///< See Story.
  JobOptions job;
  bool keeps_marks = false;
  RelayOptions relays;
  ClaimFolder* folder = nullptr;  ///< None: its job votes.
  Millis folder_slow_max{100};    ///< For one task.
};

class Cluster;

/// Any that others cannot guess.
[[nodiscard]] inline AgentSecret secret_of(AgentId agent) {
  AgentSecret secret{1};
  for (std::size_t byte = 8; byte < secret.size(); ++byte, agent >>= 8) {
    secret.at(byte) = static_cast<std::uint8_t>(agent & 0xff);
  }
  return secret;
}

class Host : public NodeObserver {
 public:
  Host(Cluster& cluster, HostOptions options);

  // What may happen to it.
  void power_on();
  void power_off();  ///< Nothing is sent any more, not even a FIN.
  /// The guard kills the workers and delivers the agent's will, the kernel closes the connections.
  void kill_agent();
  void pause(Millis time);  ///< SIGSTOP of the agent; guard and workers go on.
  void worker_fails(Causes::Why why = Causes::Why::itself);
  void next_spawn_fails() { spawn_fails_ = true; }
  void spawns_well() { spawn_fails_ = false; }
  void kills_slowly(Millis time);
  void worker_succeeds();
  void workers_succeed();
  void loses_folder(const Fault& fault);
  void gets_folder(ClaimFolder* folder) { options_.folder = folder; }
  [[nodiscard]] const ClaimFolder* folder() const { return options_.folder; }
  /// For how long its proposals have waited for their voters since it started a generation.
  [[nodiscard]] Millis undecided_for() const;
  [[nodiscard]] bool folder_hangs() const { return node_ && folder_hangs_; }
  /// Its process has tried to claim a place, and has read nothing since from which it could know
  /// whether it has it.
  [[nodiscard]] bool is_in_doubt() const { return node_ && is_in_doubt_; }
  void lose_lines_with(int other);
  void loses_guard();
  void complain(GenerationNumber generation);  ///< Its store cannot be reached.
  void gets(int signal);  ///< SIGINT ends the job, SIGUSR2 this host, SIGTERM one or the other.
  void gets_stuck(Millis time);  ///< What is killed until then runs no more, but cannot end.

  [[nodiscard]] int index() const { return options_.index; }
  [[nodiscard]] bool on() const { return on_; }
  [[nodiscard]] bool paused() const { return paused_; }
  /// Whose generation that was: who founded it.
  [[nodiscard]] AgentId job() const { return job_; }
  /// Of the generation whose workers live here; or null.
  [[nodiscard]] const Part* living() const { return alive_ > 0 && !doomed_ ? &part_ : nullptr; }
  [[nodiscard]] bool is_witness() const { return options_.is_witness; }
  /// By a signal, and still runs.
  [[nodiscard]] bool is_to_leave() const { return node_ && is_to_leave_; }
  [[nodiscard]] const std::optional<Outcome>& outcome() const { return outcome_; }
  [[nodiscard]] const Coordinator* coordinator() const {
    return node_ ? node_->coordinator() : nullptr;
  }
  [[nodiscard]] const Uplink* uplink() const {
    return node_ ? &node_->participant()->uplink() : nullptr;
  }
  [[nodiscard]] const Succession* succession() const {
    return node_ ? &node_->participant()->succession() : nullptr;
  }
  /// By everybody's clock.
  [[nodiscard]] Instant by_all_clocks(Instant at) const {
    return at == Lead::forever ? at : global(at);
  }
  [[nodiscard]] bool has_mark() const { return mark_.has_value(); }
  [[nodiscard]] AgentId agent_id() const { return node_ ? agent_id_ : 0; }
  /// Also of a process that is gone.
  [[nodiscard]] AgentId last_agent_id() const { return agent_id_; }
  [[nodiscard]] Instant began_at() const { return began_at_; }
  /// Its own uplink has, and no coordinator has told it.
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  /// By everybody's clock; nothing while it does not lead.
  [[nodiscard]] std::optional<Instant> lead_end() const;
  /// By everybody's clock, and who has granted it.
  [[nodiscard]] std::optional<Instant> lease_end() const;
  [[nodiscard]] const Reign& lease_by() const { return followed_; }
  /// In the life of this process.
  [[nodiscard]] bool was_leased() const { return was_leased_; }

 private:
  /// A connection, as either end knows it.
  struct Line {
    SessionId session;
    ConnectionId connection;
    int agent = 0;  // the host that made it,
    int door = 0;   // and the other one
    std::uint64_t boot = 0;
    std::uint64_t door_boot = 0;
    bool up = false;
    Network::PipePtr there;
    Network::PipePtr back;
  };
  struct BallotPipe {
    int to;
    Network::PipePtr pipe;
  };

  [[nodiscard]] Instant local_now() const;
  [[nodiscard]] Instant global(Instant local) const;
  /// Does `what` at once if nothing is left to do; there are millions of these.
  template <typename What>
  void post(What&& what) {
    if (draining_ || paused_ || !inbox_.empty()) {
      inbox_.emplace_back(std::forward<What>(what));
      return drain();
    }
    draining_ = true;
    what();
    catch_up();
  }
  void drain();
  void catch_up();
  /// `what`, unless this start of the host is over by then; later while it is paused.
  template <typename What>
  [[nodiscard]] auto mine(What what) {
    return [this, boot = boot_, what = std::move(what)] {
      if (boot == boot_ && node_) post(what);
    };
  }
  void feed(const NodeEvent& event);
  void perform(const NodeAction& action);
  void perform(const LocalAction& action);
  void perform(const LinkAction& action);
  void perform(const LastStepAction& action);
  void told(const Agent&, const AgentEvent& event) override;
  void told(const Uplink& uplink, const UplinkEvent& event) override;
  void told(const Succession& succession, const SuccessionEvent& event) override;
  void told(const Coordinator& coordinator, const CoordinatorEvent& event) override;
  void told(const Roster& roster, const RosterEvent& event) override;
  void answered(const Agent&, const std::vector<AgentAction>& actions) override;
  void answered(const Uplink& uplink, const std::vector<UplinkAction>& actions) override;
  void answered(const Succession&, const std::vector<SuccessionAction>& actions) override;
  void answered(const Coordinator&, const std::vector<CoordinatorAction>& actions) override;
  void answered(const Roster&, const std::vector<RosterAction>& actions) override;
  void send_up(const SendUp& send);
  void send_down(const SendDown& send);
  void send_back(const Line& line, const ParticipantEvent& event);
  void close(SessionId session);
  void tell_ballot_lines(const BallotLineEvent& event);
  void carry(const BallotPipe& by, const ToCoordinator& ballot);
  void deliver_will(AgentId agent, const std::string& address);
  void deliver(const Will& will, int to, Millis later);
  void use_folder(const FolderTask& task);
  void keep_mark(const KeepMark& keep);
  void connect(ConnectionId connection, const std::string& address);
  void disconnect(ConnectionId connection);
  void accept(Line line);
  void note_proposal(bool is_there);
  void settle();
  void leave();
  void note_request(const News& news);
  void queue_again(const Outcome& outcome);
  void spawn(const Part& part);
  void signal_workers();
  void kill_workers();
  void end_workers(int count, WorkerEnd end, bool all_gone = false);
  void tell_guard(const GuardedLease& told);
  void look_at_snapshot();
  void save(const AskToSave& ask);

  Cluster& cluster_;
  HostOptions options_;
  bool on_ = false;
  bool paused_ = false;
  std::uint64_t boot_ = 0;  // counts starts: what belongs to an earlier one is not delivered
  std::uint64_t alarm_ = 0;
  std::deque<std::function<void()>> inbox_;  // grows while paused
  bool timer_due_ = false;
  bool draining_ = false;
  std::unique_ptr<Node> node_;
  AgentId agent_id_ = 0;
  Instant began_at_;
  bool gave_up_ = false;
  bool has_left_ = false;  // the job, which goes on
  Millis undecided_;
  std::optional<Instant> undecided_since_;
  bool starts_ = false;                 // what it is told starts a generation
  std::map<ConnectionId, Line> lines_;  // that it made
  std::map<SessionId, Line> sessions_;  // that it accepted
  BallotLines ballot_lines_;
  std::map<ConnectionId, BallotPipe> ballot_pipes_;
  Part part_;
  int spawns_count_ = 0;  // two jobs may have a generation of one number
  int alive_ = 0;
  bool sweeping_ = false;
  bool spawn_fails_ = false;
  AgentId job_ = 0;      // its founder
  bool doomed_ = false;  // what lives was killed, and is stuck
  Instant stuck_until_;
  Instant folder_free_at_;  // when all tasks before are done
  Instant folder_lost_until_;
  Instant folder_gone_until_;
  Instant folder_stale_until_;
  std::int64_t folder_seen_ = 0;  // the newest place, until then
  bool folder_hangs_ = false;
  bool is_in_doubt_ = false;
  Instant slow_until_;
  Reign followed_;  // by the uplink
  std::optional<Instant> leased_until_;
  bool was_leased_ = false;
  LeaseWatch guard_;
  bool has_guard_ = true;
  std::optional<Instant> alarm_at_;
  std::string will_is_for_;  // as its guard knows
  std::optional<Outcome> outcome_;
  std::optional<Founding> mark_;  // on its disk
  bool leaving_ = false;
  bool is_to_leave_ = false;
};

}  // namespace ddprun::sim
