#include "tests/sim/host.hpp"

#include "tests/sim/cluster.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace ddprun::sim {
namespace {

AgentOptions agent_options(const HostOptions& options) {
  AgentOptions agent;
  agent.host = name_of(options.index);
  agent.worker_count = options.worker_count;
  agent.sees_snapshots = options.snapshots != Snapshots::unseen;
  return agent;
}

UplinkOptions uplink_options(const HostOptions& options, std::uint64_t agent) {
  UplinkOptions uplink;
  uplink.agent = agent;
  uplink.host = name_of(options.index);
  uplink.witness = options.worker_count == 0;
  if (!uplink.witness && (options.has_place || options.founds)) uplink.node = NodeId{options.index};
  uplink.contact = address_of(options.index);
  uplink.doors = options.doors;
  uplink.times = options.job.times;
  uplink.nodes_min = options.job.coordinator.gathering.nodes_min;
  uplink.nodes_max = options.job.coordinator.gathering.nodes_max;
  uplink.join_timeout = options.job.join_timeout;
  uplink.replace_timeout = options.job.replace_timeout;
  return uplink;
}

SuccessionOptions succession_options(const HostOptions& options, std::uint64_t agent) {
  SuccessionOptions succession;
  succession.self = {
      agent, NodeId{options.index}, name_of(options.index), address_of(options.index)};
  succession.times = options.job.times;
  succession.nodes_min = options.job.coordinator.gathering.nodes_min;
  succession.endpoint = address_of(0);
  succession.founds = options.founds;
  succession.keeps_marks = options.keeps_marks;
  if (options.folder != nullptr) succession.folder = "the folder";
  return succession;
}

}  // namespace

Host::Host(Cluster& cluster, HostOptions options) : cluster_(cluster), options_(options) {}

void Host::power_on() {
  if (agent_) return;
  on_ = true;
  ++boot_;
  agent_id_ = cluster_.chance().next();
  began_at_ = cluster_.schedule().now();
  gave_up_ = leaving_ = false;
  is_in_doubt_ = false;
  folder_hangs_ = false;  // another process has another thread for it
  folder_free_at_ = {};
  outcome_.reset();
  was_leased_ = false;
  cluster_.began(options_.index);
  agent_ = std::make_unique<Agent>(agent_options(options_));
  UplinkOptions uplink = uplink_options(options_, agent_id_);
  SuccessionOptions succession = succession_options(options_, agent_id_);
  uplink.mark = succession.mark = mark_.value_or(Founding{}).epoch;
  uplink_ = std::make_unique<Uplink>(std::move(uplink));
  succession_ = std::make_unique<Succession>(std::move(succession));
  post([this] {
    std::vector<SuccessionAction> lead;
    succession_->start(local_now(), lead);
    cluster_.check_succession(options_.index, lead);
    std::vector<UplinkAction> connections;
    uplink_->start(local_now(), connections);
    for (const SuccessionAction& action : lead) perform(action);
    for (const UplinkAction& action : connections) perform(action);
    std::vector<AgentAction> first;
    agent_->start(first);
    for (const AgentAction& action : first) perform(action);
  });
}

void Host::power_off() {
  on_ = false;
  paused_ = false;
  ++boot_;
  alarm_at_.reset();
  alive_ = 0;
  sweeping_ = false;
  guarded_until_.reset();
  leased_until_.reset();
  lines_.clear();
  sessions_.clear();
  hellos_.clear();
  ballot_lines_.clear();
  inbox_.clear();
  timer_due_ = false;
  spawn_fails_ = false;
  doomed_ = false;
  stuck_until_ = {};
  leaving_ = false;
  outcome_.reset();
  agent_.reset();
  uplink_.reset();
  succession_.reset();
  coordinator_.reset();
  roster_.reset();
  cluster_.check_lease(options_.index);
}

void Host::kill_agent() {
  if (!agent_) return;
  for (const auto& [connection, line] : std::map(lines_)) disconnect(connection);
  for (const auto& [session, line] : sessions_) send_down(line, ConnectionDown{line.connection});
  power_off();  // the guard has killed the workers before it ends
  on_ = true;
}

/// What workers have printed is still to be written.
void Host::leave() {
  leaving_ = true;
  const Millis time{cluster_.chance().between(0, 200)};
  cluster_.schedule().after(time, [this, boot = boot_] {
    if (boot != boot_) return;
    const std::optional<Outcome> outcome = outcome_;
    kill_agent();
    outcome_ = outcome;
  });
}

void Host::pause(Millis time) {
  if (!agent_ || paused_) return;
  paused_ = true;
  cluster_.schedule().after(time, [this, boot = boot_] {
    if (boot != boot_) return;
    paused_ = false;
    drain();
  });
}

Instant Host::local_now() const {
  const std::int64_t now = cluster_.schedule().now().ms;
  return {now + now * options_.drift_ppm / 1'000'000};
}

Instant Host::global(Instant local) const {
  std::int64_t at = local.ms - local.ms * options_.drift_ppm / 1'000'000 - 1;
  while (at + at * options_.drift_ppm / 1'000'000 < local.ms) ++at;
  return {at};
}

std::optional<Instant> Host::lead_end() const {
  if (!succession_ || !succession_->lead_end()) return std::nullopt;
  const Instant end = *succession_->lead_end();
  return end == Lead::forever ? end : global(end);
}

std::optional<Instant> Host::lease_end() const {
  if (!uplink_ || !uplink_->lease_end()) return std::nullopt;
  return global(*uplink_->lease_end());
}

void Host::drain() {
  if (draining_ || paused_) return;
  draining_ = true;
  catch_up();
}

void Host::catch_up() {
  while (!inbox_.empty() || timer_due_) {
    if (inbox_.empty()) {  // what has happened comes before what has not
      timer_due_ = false;
      time_out();
      continue;
    }
    const auto next = std::move(inbox_.front());
    inbox_.pop_front();
    next();
  }
  draining_ = false;
  settle();
}

/// The process's end, once all others have been told of the job's; the one timer, and the guard's
/// knowledge of the lease.
void Host::settle() {
  if (!agent_) return;
  if (outcome_ && !leaving_ && (!roster_ || roster_->all_told())) leave();
  std::optional<Instant> next = agent_->next_deadline();
  const auto consider = [&](std::optional<Instant> other) {
    if (other) next = next ? std::min(*next, *other) : other;
  };
  consider(uplink_->next_deadline());
  consider(succession_->next_deadline());
  if (roster_) consider(roster_->next_deadline());
  if (coordinator_) consider(coordinator_->next_deadline());
  guard_lease();
  if (next == alarm_at_) return;
  alarm_at_ = next;
  if (!next) return;
  cluster_.schedule().at(global(*next), [this, alarm = ++alarm_, boot = boot_] {
    if (alarm != alarm_ || boot != boot_ || !agent_) return;
    alarm_at_.reset();
    timer_due_ = true;
    drain();
  });
}

void Host::time_out() {
  feed(SuccessionEvent(SuccessionTimeout{}));
  feed(UplinkEvent(Timeout{}));
  if (roster_) feed(RosterEvent(Timeout{}));
  if (coordinator_) feed(CoordinatorEvent(Timeout{}));
  feed(AgentEvent(Timeout{}));
}

void Host::feed(const AgentEvent& event) {
  std::vector<AgentAction> actions;
  agent_->on_event(local_now(), event, actions);
  cluster_.answered(actions.size());
  for (const AgentAction& action : actions) perform(action);
}

void Host::feed(const UplinkEvent& event) {
  std::vector<UplinkAction> actions;
  cluster_.tell(options_.index, *uplink_, event);
  if (const auto* follow = std::get_if<Follow>(&event)) {
    followed_ = {follow->leader.agent, follow->leader.reign};
  }
  uplink_->on_event(local_now(), event, actions);
  cluster_.answered(actions.size());
  if (const auto end = uplink_->lease_end(); end != leased_until_) {
    leased_until_ = end;
    was_leased_ = was_leased_ || end.has_value();
    cluster_.check_lease(options_.index);
  }
  for (const UplinkAction& action : actions) perform(action);
}

void Host::feed(const RosterEvent& event) {
  std::vector<RosterAction> actions;
  cluster_.tell(options_.index, *roster_, event);
  roster_->on_event(local_now(), event, actions);
  cluster_.answered(actions.size());
  for (const RosterAction& action : actions) perform(action);
}

void Host::feed(const CoordinatorEvent& event) {
  std::vector<CoordinatorAction> actions;
  cluster_.tell(options_.index, *coordinator_, event);
  coordinator_->on_event(local_now(), event, actions);
  cluster_.answered(actions.size());
  for (const CoordinatorAction& action : actions) perform(action);
  const std::optional<Generation>& proposal = coordinator_->proposal();
  note_proposal(proposal.has_value());
  if (!proposal || proposal->number == proposed_) return;
  proposed_ = proposal->number;
  feed(SuccessionEvent(Propose{*proposal}));
}

void Host::note_proposal(bool is_there) {
  const Instant now = cluster_.schedule().now();
  if (is_there && !undecided_since_) undecided_since_ = now;
  if (is_there || !undecided_since_) return;
  undecided_ = undecided_ + (now - *std::exchange(undecided_since_, std::nullopt));
}

Millis Host::undecided_for() const {
  const Millis now = undecided_since_ ? cluster_.schedule().now() - *undecided_since_ : Millis{};
  return undecided_ + now;
}

/// At once: what the machines of one process say to each other comes before anything else.
void Host::feed(const SuccessionEvent& event) {
  if (std::holds_alternative<Propose>(event)) cluster_.did(options_.index, Moment::proposes);
  std::vector<SuccessionAction> actions;
  cluster_.tell(options_.index, *succession_, event);
  succession_->on_event(local_now(), event, actions);
  cluster_.answered(actions.size());
  cluster_.check_succession(options_.index, actions);
  for (const SuccessionAction& action : actions) perform(action);
}

void Host::perform(const AgentAction& action) {
  if (std::holds_alternative<BindStore>(action)) {
    post([this] { feed(AgentEvent(StoreBound{4000, address_of(options_.index)})); });
  } else if (const auto* started = std::get_if<SpawnWorkers>(&action)) {
    spawn(started->part);
  } else if (std::holds_alternative<LookAtSnapshot>(action)) {
    look_at_snapshot();
  } else if (std::holds_alternative<SignalWorkers>(action)) {
    signal_workers();
  } else if (std::holds_alternative<KillAll>(action)) {
    sweeping_ = true;
    kill_workers();
  } else if (const auto* exit = std::get_if<ExitWith>(&action)) {
    outcome_ = exit->outcome;
    cluster_.ended(options_.index, exit->outcome);
    feed(SuccessionEvent(JobOver{exit->outcome.everywhere}));
  } else if (const auto* tell = std::get_if<TellCoordinator>(&action)) {
    if (std::holds_alternative<WorkersStuck>(tell->event)) feed(SuccessionEvent(WorkersGone{}));
    std::visit(
        [this](const auto& news) {
          if constexpr (std::is_constructible_v<News, decltype(news)>) {
            post([this, news] { feed(UplinkEvent(TellNews{news})); });
          }
        },
        tell->event);
  }
}

void Host::perform(const UplinkAction& action) {
  if (const auto* made = std::get_if<Connect>(&action)) {
    connect(made->connection, made->address);
  } else if (const auto* ended = std::get_if<Disconnect>(&action)) {
    disconnect(ended->connection);
  } else if (const auto* send = std::get_if<SendUp>(&action)) {
    const auto found = lines_.find(send->connection);
    if (found == lines_.end()) return;
    const Line line = found->second;
    Host& other = cluster_.host(line.door);
    cluster_.network().send(line.there, [&other, message = send->message, line] {
      if (other.boot_ == line.door_boot && other.agent_) {
        other.post([&other, message, line] { other.hear(line.session, message); });
      } else if (other.on()) {  // RST
        other.send_down(line, ConnectionDown{line.connection});
      }
    });
  } else if (const auto* pass = std::get_if<PassOn>(&action)) {
    std::visit([this](const auto& what) { post([this, what] { feed(AgentEvent(what)); }); },
               pass->instruction);
  } else if (const auto* heard = std::get_if<HeardOf>(&action)) {
    feed(SuccessionEvent(*heard));
  } else if (std::holds_alternative<LeaderAnswered>(action)) {
    feed(SuccessionEvent(LeaderAnswered{}));
  } else if (const auto* known = std::get_if<RecordDecided>(&action)) {
    feed(SuccessionEvent(*known));
  } else if (const auto* given_up = std::get_if<GiveUp>(&action)) {
    gave_up_ = true;
    post([this, what = *given_up] { feed(AgentEvent(what)); });
  } else if (std::holds_alternative<LeaseEnded>(action)) {
    feed(AgentEvent(LeaseEnded{}));  // before the ends of workers that came of it
  } else if (std::holds_alternative<LifeEnded>(action)) {
    post([this] { feed(AgentEvent(LifeEnded{})); });
  }
}

/// Each hello is the succession's matter first.
void Host::hear(SessionId session, const ToCoordinator& message) {
  if (!sessions_.contains(session)) return;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    hellos_[session] = *hello;
    const Called called{session, hello->knows, hello->orphaned, hello->mark, hello->host};
    feed(SuccessionEvent(called));
  } else if (roster_) {
    feed(RosterEvent(Received{session, message}));
  }
}

void Host::perform(const SuccessionAction& action) {
  if (const auto* send = std::get_if<SendBallot>(&action)) {
    send_ballot(*send);
  } else if (const auto* lead = std::get_if<TakeLead>(&action)) {
    take_lead(*lead);
  } else if (std::holds_alternative<StepDown>(action)) {
    step_down();
  } else if (const auto* changed = std::get_if<LeadChanged>(&action)) {
    if (roster_) feed(RosterEvent(*changed));
  } else if (const auto* voters = std::get_if<VotersChanged>(&action)) {
    roster_ ? feed(RosterEvent(*voters)) : feed(UplinkEvent(*voters));
  } else if (const auto* needed = std::get_if<NeededVoters>(&action)) {
    feed(UplinkEvent(*needed));
  } else if (const auto* decided = std::get_if<Decided>(&action)) {
    post([this, decided = *decided] {
      if (!coordinator_) return;
      const auto& proposal = coordinator_->proposal();
      const bool starts = proposal && proposal->number == decided.number;
      feed(CoordinatorEvent(decided));
      if (starts) undecided_ = {};
    });
  } else if (const auto* task = std::get_if<FolderTask>(&action)) {
    use_folder(*task);
  } else if (const auto* keep = std::get_if<KeepMark>(&action)) {
    keep_mark(*keep);
  } else if (const auto* drop = std::get_if<DropMark>(&action)) {
    if (mark_ && mark_->epoch <= drop->founded) mark_.reset();
  } else if (const auto* marked = std::get_if<MarkFound>(&action)) {
    if (coordinator_) feed(CoordinatorEvent(*marked));
  } else if (const auto* follow = std::get_if<Follow>(&action)) {
    feed(UplinkEvent(*follow));
  } else if (std::holds_alternative<Unfollow>(action)) {
    feed(UplinkEvent(Unfollow{}));
  } else if (const auto* admit = std::get_if<Admit>(&action)) {
    const auto hello = hellos_.extract(admit->session);
    if (roster_) feed(RosterEvent(Received{admit->session, hello.mapped()}));
  } else if (const auto* turned = std::get_if<TurnAway>(&action)) {
    hellos_.erase(turned->session);
    const auto found = sessions_.find(turned->session);
    if (found == sessions_.end()) return;
    send_down(found->second, Heard{found->second.connection, Redirect{turned->leader}});
  }
}

/// It is on the disk a while after it was asked for, or never if the host is lost before.
void Host::keep_mark(const KeepMark& keep) {
  constexpr Millis slowest{50};
  const Millis time{cluster_.chance().between(0, slowest.count)};
  cluster_.schedule().after(time, mine([this, founding = keep.founding] {
                              mark_ = founding;
                              feed(SuccessionEvent(MarkKept{}));
                            }));
}

void Host::take_lead(const TakeLead& lead) {
  proposed_ = {};
  undecided_ = {};
  undecided_since_.reset();
  const GatheringOptions& gathering = options_.job.coordinator.gathering;
  RosterOptions roster{.leader = lead.leader,
                       .times = options_.job.times,
                       .nodes_min = gathering.nodes_min,
                       .nodes_max = gathering.nodes_max};
  if (lead.record || options_.worker_count == 0) roster.own_node = NodeId{-1};
  if (lead.record) {
    coordinator_ = std::make_unique<Coordinator>(
        options_.job.coordinator, *lead.record, "head " + lead.record->head_host() + " was lost");
    roster_ = std::make_unique<Roster>(roster, local_now());
    roster_->inherit(local_now(), *lead.record, lead.old_head_heard);
  } else {
    coordinator_ = std::make_unique<Coordinator>(options_.job.coordinator);
    roster_ = std::make_unique<Roster>(roster, local_now());
  }
}

void Host::step_down() {
  coordinator_.reset();
  roster_.reset();
  for (const auto& [session, line] : std::exchange(sessions_, {})) {
    send_down(line, ConnectionDown{line.connection});
  }
}

void Host::perform(const RosterAction& action) {
  if (const auto* report = std::get_if<Report>(&action)) {
    return post([this, event = report->event, roster = roster_.get()] {
      if (coordinator_ && roster == roster_.get()) feed(event);
    });
  }
  const auto* send = std::get_if<SendDown>(&action);
  const auto* close = std::get_if<CloseSession>(&action);
  const auto found = sessions_.find(send != nullptr ? send->session : close->session);
  if (found == sessions_.end()) return;
  const Line line = found->second;
  if (close != nullptr) sessions_.erase(found);
  if (send != nullptr) {
    send_down(line, Heard{line.connection, send->message});
  } else {
    send_down(line, ConnectionDown{line.connection});
  }
}

void Host::perform(const CoordinatorAction& action) {
  std::visit(
      [this](const auto& what) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(what)>, Note>) {
          post([this, what, roster = roster_.get()] {
            if (roster_ && roster == roster_.get()) feed(RosterEvent(Instruct{what}));
          });
        }
      },
      action);
}

}  // namespace ddprun::sim
