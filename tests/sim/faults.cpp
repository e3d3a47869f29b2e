// What goes wrong with the hosts of a pretended job, as its story says.
#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>
#include <vector>

namespace ddprun::sim {
namespace {

constexpr Millis leaving_max{20'000};

}  // namespace

/// At its time; or it waits from then on, but not beyond the time of faults.
void Cluster::begin(const Fault& drawn) {
  if (drawn.when == Moment::none) return happen(drawn);
  waiting_.push_back(drawn);
}

void Cluster::did(int host, Moment what) {
  const bool over = schedule_.now() > Instant{} + story_.faults_for;
  if (what == Moment::proposes && decided_.empty()) proposed_first_ = this->host(host).agent_id();
  if (host == story_.founder && is_marked()) marked_founder_ = founding_host().agent_id();
  std::erase_if(waiting_, [&](Fault fault) {
    const bool is_it = fault.when == what && (fault.by == Fault::leader || fault.by == host);
    if (!is_it || over) return is_it;
    if (fault.host == Fault::leader) fault.host = host;
    schedule_.after(fault.lag, [this, fault] { happen(fault); });
    return true;
  });
}

void Cluster::note_moments(int index, const std::vector<SuccessionAction>& actions) {
  for (const SuccessionAction& action : actions) {
    if (std::holds_alternative<TakeLead>(action)) did(index, Moment::leads);
    if (std::holds_alternative<StepDown>(action)) did(index, Moment::steps_down);
    if (std::holds_alternative<Decided>(action)) did(index, Moment::decides);
    const auto* task = std::get_if<FolderTask>(&action);
    if (task != nullptr && std::holds_alternative<ClaimPlace>(*task)) did(index, Moment::claims);
    const auto* send = std::get_if<SendBallot>(&action);
    if (send == nullptr) continue;
    if (std::holds_alternative<VoteRequest>(send->ballot)) did(index, Moment::asks);
    if (std::holds_alternative<Vote>(send->ballot)) did(index, Moment::votes);
    const auto* following = std::get_if<Following>(&send->ballot);
    if (following == nullptr || accepted_[index] == following->record) continue;
    accepted_[index] = following->record;
    did(index, Moment::accepts);
  }
}

void Cluster::happen(const Fault& drawn) {
  if (is_over_) return;
  Fault fault = drawn;
  if (fault.host == Fault::leader) fault.host = who_leads();
  fault = made_bearable(fault);
  say(text_of(fault));
  note_outage(fault);
  // An outage lasts for up to twice as long, since repetitions become rarer.
  causes_.disturb(schedule_.now() + std::min(fault.time, Millis{60'000}) * 2 + fault.delay);
  Host& victim = host(fault.host);
  switch (fault.kind) {
    case FaultKind::cut_off:
    case FaultKind::link_cut:
    case FaultKind::split:
      return cut(fault);
    case FaultKind::slow_link:
      return slow_down(fault);
    case FaultKind::reset:
      return reset(fault);
    case FaultKind::pause:
      return victim.pause(fault.time);
    case FaultKind::agent_killed:
      hurt_others(fault.host);
      victim.kill_agent();
      return power_on_after(fault.time, fault.host);
    case FaultKind::guard_killed:
      victim.loses_guard();
      return power_on_after(fault.time + leaving_max, fault.host);
    case FaultKind::power_off:
      hurt_others(fault.host);
      victim.power_off();
      network_.power_off(fault.host);
      return power_on_after(fault.time, fault.host);
    case FaultKind::worker_fails:
      return victim.worker_fails();
    case FaultKind::spawn_fails:
      return victim.next_spawn_fails();
    case FaultKind::slow_kills:
      return victim.kills_slowly(fault.time);
    case FaultKind::stuck:
      return get_stuck(fault);
    case FaultKind::folder_lost:
    case FaultKind::folder_hangs:
    case FaultKind::folder_gone:
    case FaultKind::folder_stale:
      return victim.loses_folder(fault);
    case FaultKind::folder_copied:
      other_folder_ = folder_;
      return;
    case FaultKind::folder_swapped:  // not before there is a generation to go on from
      if (decided_.empty()) return;
      if (story_.may_lose_majority || majority_lives(fault.host)) {
        victim.gets_folder(&other_folder_);
      }
      return;
    case FaultKind::leaves:
    case FaultKind::evicted:
      victim.gets(fault.kind == FaultKind::leaves ? SIGUSR2 : SIGTERM);
      return power_on_after(fault.time + leaving_max, fault.host);
    case FaultKind::complains:
      return victim.complain(GenerationNumber{spawned_.value - 1});
  }
}

/// Workers elsewhere notice sooner than anybody that their peers are gone.
void Cluster::hurt_others(int lost) {
  const Part* part = host(lost).living();
  if (!story_.losses_hurt || part == nullptr) return;
  constexpr Millis latest{3'000};
  const AgentId job = host(lost).job();
  for (const auto& each : hosts_) {
    if (each->index() == lost || !chance_.percent(50)) continue;
    const Millis time{chance_.between(0, latest.count)};
    schedule_.after(time, [&each, job, number = part->number] {
      const Part* here = each->living();
      const bool is_peer = here != nullptr && here->number == number && each->job() == job;
      if (is_peer) each->worker_fails(Causes::Why::host_lost);
    });
  }
}

int Cluster::who_leads() const {
  int leader = 0;
  for (int index = 0; index < story_.hosts_count(); ++index) {
    if (hosts_[static_cast<std::size_t>(index)]->lead_end()) leader = index;
  }
  return leader;
}

/// Nothing is lost for ever that the job cannot do without.
Fault Cluster::made_bearable(Fault fault) const {
  const bool leaves = fault.kind == FaultKind::leaves || fault.kind == FaultKind::evicted;
  const bool fatal = fault.kind == FaultKind::agent_killed || fault.kind == FaultKind::power_off ||
                     fault.kind == FaultKind::guard_killed;
  if (!fatal && !leaves) return fault;
  const int index = fault.host;
  const bool may_be_lost =
      story_.anchored ? index != 0 : story_.may_lose_majority || majority_lives(index);
  // Without enough others, or with the lead, it would take the job with it.
  const Host& victim = *hosts_[static_cast<std::size_t>(index)];
  const bool is_needed = victim.is_witness() || (index == who_leads() && !may_be_lost);
  if (leaves && (is_needed || hosts_left() < story_.nodes_min + 2)) {
    fault.kind = FaultKind::pause;
    return fault;
  }
  if (!may_be_lost) fault.kind = FaultKind::pause;
  const bool enough = !parts_.empty() && hosts_left() > story_.nodes_min + 1;
  const bool is_found = index != 0 || story_.know_hosts;  // who comes back has to find somebody
  if (fault.time == Fault::for_good && !(may_be_lost && enough && is_found)) {
    fault.time = Millis{10'000};
  }
  return fault;
}

bool Cluster::cuts(const Fault& fault, int from, int to) const {
  if (fault.kind == FaultKind::split) {
    const auto side = [&](int host) { return (fault.side >> (host % 64)) & 1; };
    return side(from) != side(to) && (side(from) == 1 ? fault.outward : fault.inward);
  }
  if (fault.kind == FaultKind::link_cut && from != fault.other && to != fault.other) return false;
  return (from == fault.host && fault.outward) || (to == fault.host && fault.inward);
}

void Cluster::cut(const Fault& fault) {
  std::vector<std::pair<int, int>> links;
  for (int from = 0; from < story_.hosts_count(); ++from) {
    for (int to = 0; to < story_.hosts_count(); ++to) {
      if (from != to && cuts(fault, from, to)) links.emplace_back(from, to);
    }
  }
  for (const auto& [from, to] : links) network_.cut(from, to);
  schedule_.after(fault.time, [this, links] {
    for (const auto& [from, to] : links) network_.heal(from, to);
  });
}

void Cluster::slow_down(const Fault& fault) {
  network_.slow_down(fault.host, fault.other, fault.delay);
  schedule_.after(fault.time,
                  [this, fault] { network_.slow_down(fault.host, fault.other, Millis{}); });
}

void Cluster::reset(const Fault& fault) {
  if (fault.host == fault.other) return;
  network_.reset(fault.host, fault.other);
  network_.reset(fault.other, fault.host);
  host(fault.host).lose_lines_with(fault.other);
  host(fault.other).lose_lines_with(fault.host);
}

void Cluster::power_on_after(Millis time, int index) {
  if (time == Fault::for_good) return;
  schedule_.after(time, [this, index] {
    if (!is_over_) host(index).power_on();
  });
}

/// Longer than an agent waits, when the failure of another ends the generation.
void Cluster::get_stuck(const Fault& fault) {
  host(fault.host).gets_stuck(fault.time + Millis{4'000});
  host(fault.other).worker_fails();
}

/// What voters vote on, where one of `living` leads the job; nothing if nobody does, or if all is
/// decided.
const Knowledge* Cluster::proposed_by_leader(const std::set<AgentId>& living) const {
  for (const auto& each : hosts_) {
    const std::optional<Instant> end = each->lead_end();
    if (!living.contains(each->agent_id()) || !end || *end <= schedule_.now()) continue;
    const std::optional<Knowledge>& known = each->succession()->knowledge();
    const bool is_undecided = known && !known->place && !known->decided;
    if (is_undecided && known->record.founding.founder == founder_) return &*known;
  }
  return nullptr;
}

/// It elects nobody any more after what it has known, which is all that was decided.
bool Cluster::has_forgotten(const Host& at) const {
  const auto knew = knew_.find(at.agent_id());
  return knew != knew_.end() && !at.succession()->knowledge() && !decided_.empty() &&
         knew->second >= decided_.rbegin()->first;
}

/// Whether those who could elect a coordinator after the newest record that anybody has are still
/// there, all or without one host.
bool Cluster::majority_lives(int without) const {
  std::set<AgentId> living;
  for (int index = 0; index < story_.hosts_count(); ++index) {
    const Host& each = *hosts_[static_cast<std::size_t>(index)];
    if (index != without && !has_forgotten(each)) living.insert(each.agent_id());
  }
  if (const Knowledge* proposed = proposed_by_leader(living)) {
    return are_most(proposed->before, living);  // it may propose others
  }
  for (const auto& each : hosts_) {
    if (each->succession() == nullptr || !each->succession()->knowledge()) continue;
    const Knowledge& known = *each->succession()->knowledge();
    if (known.place) continue;
    const bool old = !decided_.empty() && known.record.number < decided_.rbegin()->first;
    if (old) continue;
    if (!are_most(known.record.voters, living)) return false;
    if (!known.decided && !are_most(known.before, living)) return false;
  }
  if (!decided_.empty() && !decided_.rbegin()->second.voters.claim) {
    return are_most(decided_.rbegin()->second.voters, living);
  }
  return decided_.empty() ? founder_ == 0 || !claims_ : a_claimant_lives(living);
}

/// Nothing once the job's end has closed the folder: nobody claims after it any more.
const Knowledge* Cluster::newest_claim() const {
  const Knowledge* newest = nullptr;
  for (const auto& [place, claim] : job_folder_->claims()) {
    const FolderId& folder = claim.place->folder;
    if (folder.proof == founder_ && job_folder_->has_proof(folder)) newest = &claim;
  }
  return newest;
}

/// The newest claim may not be known to anybody, and whom it names not see its folder any more.
bool Cluster::a_claimant_lives(const std::set<AgentId>& living) const {
  const Knowledge* newest = newest_claim();
  return std::ranges::any_of(hosts_, [&](const auto& each) {
    const AgentId agent = each->agent_id();
    return newest != nullptr && each->folder() == job_folder_ && living.contains(agent) &&
           newest->record.voters.contains(agent);
  });
}

/// Whether somebody leads who alone may claim, as far as it knows, and sees another folder; or may
/// have claimed a place, will never know, and so follows nobody who has not.
bool Cluster::is_stuck_elsewhere() const {
  return std::ranges::any_of(hosts_, [&](const auto& each) {
    if (each->folder_hangs()) return true;  // it may wait for that, as long as it likes
    if (each->folder() == job_folder_) return false;
    if (each->is_in_doubt()) return true;
    if (!each->lead_end()) return false;
    const auto& known = each->succession()->knowledge();
    return known && known->place && !known->decided && known->before.all.size() == 1;
  });
}

/// Whether so many nodes have joined that founder that the rest cannot run the job.
bool Cluster::may_found_beside(const Host& founder) const {
  const auto joined = std::ranges::count_if(hosts_, [&](const auto& each) {
    return !each->is_witness() && each->uplink() != nullptr && each->uplink()->served_by() &&
           each->uplink()->served_by()->agent == founder.agent_id();
  });
  const int witnesses = story_.has_witness() ? 1 : 0;
  return joined >= nodes_to_found(gathering().nodes_min, gathering().nodes_all(), witnesses);
}

/// Whether anybody may go on, and knows of that.
bool Cluster::a_claimant_knows() const {
  return std::ranges::any_of(hosts_, [&](const auto& each) {
    const Succession* other = each->succession();
    const auto known = other != nullptr ? other->knowledge() : std::nullopt;
    return known && known->decided && known->place && known->place->folder.proof == founder_ &&
           each->folder() == job_folder_ && known->record.voters.contains(each->agent_id());
  });
}

}  // namespace ddprun::sim
