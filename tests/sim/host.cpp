#include "tests/sim/host.hpp"

#include "launcher/node/node_options.hpp"
#include "launcher/processes/kill_patience.hpp"
#include "rendezvous/overloaded.hpp"
#include "tests/sim/cluster.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace ddprun::sim {
namespace {

/// Its own command line.
Options own_options(const HostOptions& options) {
  Options own = options.job.options;
  own.worker_count = options.worker_count;
  if (options.folder != nullptr) own.claim_dir = "the folder";
  if (options.has_place) own.rendezvous.node_rank = NodeId{options.index};
  return own;
}

AgentOptions agent_options_of(const HostOptions& options) {
  AgentOptions agent = agent_options(own_options(options), options.is_witness);
  agent.host = name_of(options.index);
  agent.sees_snapshots = options.snapshots != Snapshots::unseen;
  return agent;
}

ParticipantOptions participant_options_of(const HostOptions& options) {
  RendezvousPlan plan;
  plan.is_head = options.founds;
  plan.is_at_endpoint = options.index == 0;
  ParticipantOptions participant =
      participant_options(own_options(options), plan, options.is_witness);
  participant.host = name_of(options.index);
  participant.contact = address_of(options.index);
  participant.endpoint = address_of(0);
  participant.other_doors = options.other_doors;
  participant.folder = own_options(options).claim_dir;
  participant.keeps_marks = participant.keeps_marks && options.keeps_marks;
  participant.relays = options.relays;
  participant.coordinator.save_patience = options.job.coordinator.save_patience;
  return participant;
}

}  // namespace

Host::Host(Cluster& cluster, HostOptions options) : cluster_(cluster), options_(options) {}

void Host::power_on() {
  if (node_) return;
  on_ = true;
  ++boot_;
  agent_id_ = cluster_.chance().next();
  began_at_ = cluster_.schedule().now();
  gave_up_ = leaving_ = has_left_ = is_to_leave_ = false;
  is_in_doubt_ = false;
  folder_hangs_ = false;  // another process has another thread for it
  folder_free_at_ = {};
  outcome_.reset();
  will_is_for_.clear();
  guard_ = {};
  has_guard_ = true;
  was_leased_ = false;
  cluster_.began(options_.index);
  ParticipantOptions options = participant_options_of(options_);
  options.agent = agent_id_;
  options.secret = secret_of(agent_id_);
  options.mark = mark_.value_or(Founding{}).epoch;
  node_ = std::make_unique<Node>(Agent(agent_options_of(options_)),
                                 Participant(std::move(options), *this),
                                 LastSteps(cluster_.story().anchored),
                                 *this);
  post([this] {
    std::vector<NodeAction> actions;
    node_->start(local_now(), actions);
    for (const NodeAction& action : actions) perform(action);
  });
}

void Host::power_off() {
  on_ = false;
  paused_ = false;
  ++boot_;
  alarm_at_.reset();
  alive_ = 0;
  sweeping_ = false;
  leased_until_.reset();
  lines_.clear();
  sessions_.clear();
  ballot_lines_ = {};
  ballot_pipes_.clear();
  inbox_.clear();
  timer_due_ = false;
  spawn_fails_ = false;
  doomed_ = false;
  stuck_until_ = {};
  leaving_ = false;
  outcome_.reset();
  node_.reset();
  cluster_.check_lease(options_.index);
}

void Host::kill_agent() {
  if (!node_) return;
  const Instant now = cluster_.schedule().now();
  const Millis left = alive_ > 0 && now < stuck_until_ ? stuck_until_ - now : Millis{0};
  const std::string address = has_guard_ && left <= kill_patience ? will_is_for_ : "";
  for (const auto& [connection, line] : std::map(lines_)) disconnect(connection);
  for (const auto& [session, line] : sessions_) send_back(line, ConnectionDown{line.connection});
  power_off();  // a guard kills the workers before it ends
  on_ = true;
  cluster_.schedule().after(left,
                            [this, agent = agent_id_, address] { deliver_will(agent, address); });
}

void Host::note_request(const News& news) {
  is_to_leave_ = std::holds_alternative<LeaveRequested>(news) ||
                 (is_to_leave_ && !std::holds_alternative<StopRequested>(news));
}

/// Slurm has its time to answer.
void Host::queue_again(const Outcome& outcome) {
  const Millis time{cluster_.chance().between(0, 500)};
  cluster_.schedule().after(
      time, mine([this, outcome] { feed(LastStepAnswer(QueueAnswered{outcome})); }));
}

/// What workers have printed is still to be written.
void Host::leave() {
  if (std::exchange(leaving_, true)) return;
  const Millis time{cluster_.chance().between(0, 200)};
  cluster_.schedule().after(time, [this, boot = boot_] {
    if (boot != boot_) return;
    const std::optional<Outcome> outcome = outcome_;
    kill_agent();
    if (!has_left_) outcome_ = outcome;  // the job's
  });
}

void Host::pause(Millis time) {
  if (!node_ || paused_) return;
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
  if (!node_ || !succession()->lead_end()) return std::nullopt;
  const Instant end = *succession()->lead_end();
  return end == Lead::forever ? end : global(end);
}

std::optional<Instant> Host::lease_end() const {
  if (!node_ || !uplink()->lease_end()) return std::nullopt;
  return global(*uplink()->lease_end());
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
      feed(Timeout{});
      continue;
    }
    const auto next = std::move(inbox_.front());
    inbox_.pop_front();
    next();
  }
  draining_ = false;
  settle();
}

/// The one timer.
void Host::settle() {
  if (!node_) return;
  const std::optional<Instant> next = node_->next_deadline();
  if (next == alarm_at_) return;
  alarm_at_ = next;
  if (!next) return;
  cluster_.schedule().at(global(*next), [this, alarm = ++alarm_, boot = boot_] {
    if (alarm != alarm_ || boot != boot_ || !node_) return;
    alarm_at_.reset();
    timer_due_ = true;
    drain();
  });
}

void Host::feed(const NodeEvent& event) {
  std::vector<NodeAction> actions;
  node_->on_event(local_now(), event, actions);
  for (const NodeAction& action : actions) perform(action);
}

void Host::told(const Agent&, const AgentEvent& event) {
  if (std::holds_alternative<GiveUp>(event)) {
    gave_up_ = true;
    has_left_ = is_to_leave_;
  }
  if (const auto* finish = std::get_if<FinishJob>(&event)) has_left_ = finish->leaves;
}

void Host::answered(const Agent&, const std::vector<AgentAction>& actions) {
  cluster_.answered(actions.size());
  for (const AgentAction& action : actions) {
    if (const auto* tell = std::get_if<TellCoordinator>(&action)) note_request(tell->news);
    if (const auto* exit = std::get_if<ExitWith>(&action)) {
      outcome_ = exit->outcome;
      cluster_.ended(options_.index, exit->outcome);
    }
  }
}

void Host::told(const Uplink& uplink, const UplinkEvent& event) {
  cluster_.tell(options_.index, uplink, event);
  if (const auto* follow = std::get_if<Follow>(&event)) {
    followed_ = {follow->leader.agent, follow->leader.reign};
  }
}

void Host::told(const Succession& succession, const SuccessionEvent& event) {
  if (std::holds_alternative<Propose>(event)) cluster_.did(options_.index, Moment::proposes);
  cluster_.tell(options_.index, succession, event);
}

void Host::told(const Coordinator& coordinator, const CoordinatorEvent& event) {
  cluster_.tell(options_.index, coordinator, event);
  const auto* decided = std::get_if<Decided>(&event);
  const std::optional<Generation>& proposal = coordinator.proposal();
  starts_ = decided != nullptr && proposal && proposal->number == decided->number;
}

void Host::told(const Roster& roster, const RosterEvent& event) {
  cluster_.tell(options_.index, roster, event);
}

void Host::answered(const Uplink& uplink, const std::vector<UplinkAction>& actions) {
  cluster_.answered(actions.size());
  if (uplink.lease_end() == leased_until_) return;
  leased_until_ = uplink.lease_end();
  was_leased_ = was_leased_ || leased_until_.has_value();
  cluster_.check_lease(options_.index);
}

void Host::answered(const Succession&, const std::vector<SuccessionAction>& actions) {
  cluster_.answered(actions.size());
  cluster_.check_succession(options_.index, actions);
  for (const SuccessionAction& action : actions) {
    if (!std::holds_alternative<TakeLead>(action)) continue;
    undecided_ = {};
    undecided_since_.reset();
  }
}

void Host::answered(const Coordinator& coordinator, const std::vector<CoordinatorAction>& actions) {
  cluster_.answered(actions.size());
  note_proposal(coordinator.proposal().has_value());
  if (std::exchange(starts_, false)) undecided_ = {};
}

void Host::answered(const Roster&, const std::vector<RosterAction>& actions) {
  cluster_.answered(actions.size());
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

void Host::perform(const NodeAction& action) {
  std::visit(Overloaded{[&](const Note& what) { cluster_.noted(options_.index, what.text); },
                        [&](const GuardedLease& what) { tell_guard(what); },
                        [&](const WillIsFor& what) { will_is_for_ = what.address; },
                        [&](const auto& what) { perform(what); }},
             action);
}

void Host::perform(const LocalAction& action) {
  std::visit(
      Overloaded{[&](const BindStore&) {
                   post([this] { feed(LocalEvent(StoreBound{4000, address_of(options_.index)})); });
                 },
                 [](const CloseStore&) {},
                 [](const Suspend&) {},
                 [](const AskForSuspension&) {},
                 [&](const SpawnWorkers& started) { spawn(started.part); },
                 [&](const LookAtSnapshot&) { look_at_snapshot(); },
                 [&](const SignalWorkers&) { signal_workers(); },
                 [&](const AskToSave& what) { save(what); },
                 [&](const KillAll&) {
                   sweeping_ = true;
                   kill_workers();
                 }},
      action);
}

void Host::perform(const LinkAction& action) {
  std::visit(Overloaded{[&](const Connect& what) { connect(what.connection, what.address); },
                        [&](const Disconnect& what) { disconnect(what.connection); },
                        [&](const SendUp& what) { send_up(what); },
                        [&](const SendDown& what) { send_down(what); },
                        [&](const CloseSession& what) { close(what.session); },
                        [&](const SendBallot& what) { tell_ballot_lines(what); },
                        [&](const FolderTask& what) { use_folder(what); },
                        [&](const KeepMark& what) { keep_mark(what); },
                        [&](const DropMark& what) {
                          if (mark_ && what.drops(mark_->epoch)) mark_.reset();
                        },
                        [](const LookUpOwners&) {}},  // a store asks, and there is none here
             action);
}

/// No step of Slurm is here, and no output but what workers have printed.
void Host::perform(const LastStepAction& action) {
  std::visit(
      Overloaded{[](const TellOthers&) {},
                 [&](const EndSteps&) { post([this] { feed(LastStepAnswer(StepsEnded{})); }); },
                 [&](const QueueAgain& what) { queue_again(what.outcome); },
                 [](const RecordEnd&) {},
                 [&](const WriteOut&) { leave(); },
                 [&](const EndSoon&) { leave(); },
                 [&](const DeliverWill&) {
                   if (alive_ > 0) cluster_.says_none_left(options_.index);
                   deliver_will(agent_id_, will_is_for_);
                 },
                 [&](const EndWithFiles&) { leave(); }},
      action);
}

/// It is on the disk a while after it was asked for, or never if the host is lost before.
void Host::keep_mark(const KeepMark& keep) {
  constexpr Millis slowest{50};
  const Millis time{cluster_.chance().between(0, slowest.count)};
  cluster_.schedule().after(time, mine([this, founding = keep.founding] {
                              mark_ = founding;
                              feed(ParticipantEvent(MarkKept{}));
                            }));
}

}  // namespace ddprun::sim
