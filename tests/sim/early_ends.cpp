// Hosts that end before anybody has asked for it: whether they had to.
#include "rendezvous/result.hpp"
#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ddprun::sim {
namespace {

constexpr int unavailable = static_cast<int>(ExitStatus::rendezvous_unavailable);
constexpr int run_again = static_cast<int>(ExitStatus::run_again);

/// Whether that process, by what it was told, knows that nobody is elected without the head of
/// `last`. One without a vote knows what its agent knows: older voters might do without the head.
bool can_tell(const Host& at, const Generation& last) {
  const std::optional<Knowledge>& known = at.succession()->knowledge();
  if (!known) return !at.uplink()->voters().outlive({last.voters.head});
  if (known->record != last) return false;
  return known->decided || !known->before.outlive({last.voters.head, at.agent_id()});
}

}  // namespace

/// In that time all who are well, and were before, have found each other and begun.
Millis Cluster::recovery() const {
  const Millis clogs = story_.clog_percent > 0 ? times_.dead_after + story_.clog_max : Millis{};
  const Millis claims = story_.claims ? times_.dead_after * 2 : Millis{};
  return times_.dead_after * 3 + Millis{6'000} + clogs + claims;
}

/// Of all that is cut, heard late or off. What is held up comes as late again.
void Cluster::note_outage(const Fault& fault) {
  const Instant now = schedule_.now();
  const Instant over = now + std::min(fault.time, Millis{60'000}) * 2 + fault.delay;
  const auto strike = [&](int host, Instant until) { outages_.strike(host, now, until); };
  switch (fault.kind) {
    case FaultKind::split:
      for (int index = 0; index < story_.hosts_count(); ++index) {
        if (((fault.side >> (index % 64)) & 1) == 1) strike(index, over);
      }
      break;
    case FaultKind::link_cut:
    case FaultKind::slow_link:
    case FaultKind::reset:
    case FaultKind::stuck:
      strike(fault.other, over + Millis{4'000});
      [[fallthrough]];
    case FaultKind::cut_off:
    case FaultKind::pause:
    case FaultKind::slow_kills:
    case FaultKind::folder_lost:
    case FaultKind::folder_gone:
    case FaultKind::folder_stale:
      strike(fault.host, over + Millis{4'000});
      break;
    case FaultKind::folder_hangs:
      strike(fault.host, fault.time == Fault::for_good ? Outages::never : over + Millis{4'000});
      break;
    case FaultKind::agent_killed:
    case FaultKind::guard_killed:
    case FaultKind::power_off:
    case FaultKind::leaves:
    case FaultKind::evicted:
      strike(fault.host, Outages::unknown);
      break;
    case FaultKind::folder_copied:
      break;
    case FaultKind::folder_swapped:
      strike(fault.host, Outages::never);
      break;
    case FaultKind::worker_fails:
    case FaultKind::spawn_fails:
    case FaultKind::complains:
      for (int index = 0; index < story_.hosts_count(); ++index) strike(index, now + Millis{1});
      break;
  }
}

/// Whether so many hosts were well from `from` to `until`, this one among them, that there should
/// have been a generation: enough nodes, and those who decide.
bool Cluster::could_go_on(int host, Instant from, Instant until) const {
  std::set<AgentId> well;
  int nodes_count = 0;
  for (int index = 0; index < story_.hosts_count(); ++index) {
    if (!outages_.is_well(index, from, until)) continue;
    const Host& each = *hosts_[static_cast<std::size_t>(index)];
    well.insert(each.last_agent_id());
    if (!each.is_witness() && can_find_job(each)) ++nodes_count;
  }
  const AgentId self = hosts_[static_cast<std::size_t>(host)]->last_agent_id();
  if (!well.contains(self)) return false;
  const auto last = std::ranges::find_if(decided_at_.rbegin(),
                                         decided_at_.rend(),
                                         [&](const auto& entry) { return entry.at <= from; });
  if (last == decided_at_.rend()) {
    return well.contains(founding_host().last_agent_id()) && is_founder_found() &&
           nodes_count >= needed_first();
  }
  if (nodes_count < (still_founds() ? needed_first() : gathering().nodes_min)) return false;
  for (auto each = decided_at_.begin(); each != decided_at_.end(); ++each) {
    if (each->at < last->at || each->at > until) continue;
    if (!is_decided_by(each->voters, well)) return false;
  }
  return could_decide(well);
}

/// Whether a mark says that the job may run elsewhere, or what another has left in the folder. Who
/// heard of the epoch of an earlier founder's proposal may tell this one, as good as a mark. A
/// founder's own claim takes the place of the one that told it, and it goes on heeding that.
bool Cluster::is_marked() const {
  const Host& founder = founding_host();
  if (marked_founder_ != 0 && marked_founder_ == founder.agent_id()) return true;
  const bool may_be_told = proposed_first_ != 0 && proposed_first_ != founder.agent_id();
  return may_be_told ||
         (founder.folder() != nullptr && founder.folder()->has_proof_besides(founder.agent_id())) ||
         std::ranges::any_of(hosts_, [](const auto& each) { return each->has_mark(); });
}

/// More if so.
int Cluster::needed_first() const {
  if (!is_marked()) return gathering().nodes_min;
  return nodes_to_found(
      gathering().nodes_min, gathering().nodes_all(), story_.has_witness() ? 1 : 0);
}

/// The founder has withdrawn what was decided: none of its generations has started.
bool Cluster::still_founds() const {
  return parts_.empty() && founder_ != 0 && founding_host().agent_id() == founder_;
}

/// For how long the founder of a job that has not begun by `from` waits for further nodes, once it
/// has enough: not at all if all are well.
Millis Cluster::last_call_after(Instant from) const {
  const bool is_decided =
      std::ranges::any_of(decided_at_, [&](const auto& entry) { return entry.at <= from; });
  if (is_decided && !still_founds()) return {};
  const Instant until = from + recovery();
  const auto well_count = std::ranges::count_if(hosts_, [&](const auto& each) {
    return !each->is_witness() && outages_.is_well(each->index(), from, until);
  });
  const bool takes_spares = is_marked() || story_.anchored || !story_.marks;
  const int all = takes_spares ? gathering().nodes_all() : gathering().nodes_max;
  return well_count < all ? story_.last_call : Millis{};
}

/// Who has forgotten a record of this job votes for none that is older.
void Cluster::note_knowledge(const Host& at) {
  const std::optional<Knowledge>& known = at.succession()->knowledge();
  std::optional<Knowledge>& before = known_[at.agent_id()];
  if (before && known && before->id() == known->id() && before->decided == known->decided) return;
  const bool is_forgotten = before && !known && before->record.founding.founder == founder_;
  if (is_forgotten) last_known_.push_back(*before);
  before = known;
}

/// Whether one of those that are well knows that the newest decided record is decided. The others
/// then learn it from that one's vote; else nobody can tell, although a majority has accepted it.
bool Cluster::is_decision_known(const std::set<AgentId>& well) const {
  return std::ranges::any_of(hosts_, [&](const auto& each) {
    const Succession* succession = each->succession();
    return succession != nullptr && well.contains(each->agent_id()) && succession->knowledge() &&
           succession->knowledge()->decided &&
           succession->knowledge()->record.number == decided_.rbegin()->first;
  });
}

/// Those after the newest record that anybody has, has forgotten, or had who ended early, decided
/// or not, or that is claimed: nobody may be left who knows of it.
bool Cluster::could_decide(const std::set<AgentId>& well) const {
  if (is_stuck_elsewhere()) return false;
  if (const Knowledge* newest = newest_claim(); claims_ && newest != nullptr) {
    return is_decided_by(newest->record.voters, well);
  }
  if (claims_ && !decided_.empty()) return false;  // its folder is closed
  const auto leaves_majority = [&](const Knowledge& known) {
    const bool old = !decided_.empty() && known.record.number < decided_.rbegin()->first;
    const bool newest = !decided_.empty() && known.record.number == decided_.rbegin()->first;
    return old || known.decided || (newest && is_decision_known(well)) ||
           (are_most(known.record.voters, well) && are_most(known.before, well));
  };
  return std::ranges::all_of(last_known_, leaves_majority) &&
         std::ranges::all_of(hosts_, [&](const auto& each) {
           const Succession* succession = each->succession();
           return succession == nullptr || !succession->knowledge() ||
                  leaves_majority(*succession->knowledge());
         });
}

/// A member that came later may claim without having been asked whether it sees the folder.
bool Cluster::is_decided_by(const Voters& voters, const std::set<AgentId>& well) const {
  if (!voters.claim) return are_most(voters, well);
  return std::ranges::any_of(voters.all, [&](const Voter& voter) {
    const auto at = host_of_.find(voter.agent);
    return well.contains(voter.agent) && at != host_of_.end() &&
           hosts_[static_cast<std::size_t>(at->second)]->folder() == job_folder_;
  });
}

/// Whether it was of a job before this one that counts as founded later, and so joins no process of
/// this one.
bool Cluster::is_of_later_job(const Host& at) const {
  if (decided_.empty() || at.succession() == nullptr || !at.succession()->knowledge()) return false;
  return at.succession()->knowledge()->record.founding > decided_.rbegin()->second.founding;
}

/// Nobody has asked for the job's end. Fewer than are needed may have been there for as long as is
/// waited for them; or nobody who could decide.
void Cluster::ended_early(int index, const Outcome& outcome) {
  const Instant now = schedule_.now();
  const Host& at = host(index);
  const bool for_voters = outcome.text.find(" waits for its ") != std::string::npos;
  if (for_voters && at.coordinator() != nullptr &&
      at.undecided_for() + gathering().replace_timeout / 500 < gathering().replace_timeout) {
    break_rule(fmt::format("L5: n{} has waited for voters for {} ms: {}",
                           index,
                           at.undecided_for().count,
                           outcome.text));
  }
  const bool is_want = outcome.exit_status == run_again || outcome.exit_status == unavailable;
  if (is_asked_ && !is_want) return;
  outages_.strike(index, now, Outages::unknown);
  gone_.insert(index);
  if (at.succession() != nullptr && at.succession()->knowledge()) {
    last_known_.push_back(*at.succession()->knowledge());
  }
  if (!is_want || !can_find_job(at) || is_of_later_job(at)) return;
  const Millis waited =
      outcome.exit_status == run_again ? gathering().replace_timeout : gathering().join_timeout;
  const Millis drift = waited / 500;  // their clocks differ
  if (at.gave_up() && at.began_at() + waited - drift > now) {
    return break_rule(fmt::format("L5: n{} ends after {} ms: {}; {}",
                                  index,
                                  (now - at.began_at()).count,
                                  outcome.text,
                                  state()));
  }
  for (const Instant from : fresh_starts(std::max(founded_again_, now - waited))) {
    const Instant until = from + recovery() + last_call_after(from);
    if (until > now || !could_go_on(index, from, until)) continue;
    if (!outages_.losses_of_head(from, until).empty()) continue;
    return break_rule(fmt::format("L5: n{} ends, although all was well from {} to {} ms: {}; {}",
                                  index,
                                  from.ms,
                                  until.ms,
                                  outcome.text,
                                  state()));
  }
}

/// When things may have begun to be well. Who can send but hears nobody may claim all the same, so
/// that where claims are made one head after another may be lost.
std::vector<Instant> Cluster::fresh_starts(Instant since) const {
  std::vector<Instant> all = outages_.ends(since);
  for (const Instant lost : outages_.losses_of_head(since, schedule_.now())) all.push_back(lost);
  return all;
}

void Cluster::began(int index) {
  outages_.begins(index, schedule_.now());
  gone_.erase(index);
  host_of_[host(index).last_agent_id()] = index;
}

/// Whether those who have not ended yet are enough.
bool Cluster::enough_are_left() const {
  const bool has_head = founding_host().agent_id() != 0;
  if (story_.anchored) return has_head && hosts_left() >= gathering().nodes_min;
  if (!decided_.empty() && !still_founds()) return hosts_left() >= gathering().nodes_min;
  return has_head && is_founder_found() && hosts_left() >= needed_first();
}

/// Whether all who are there know that nobody is elected without the newest generation's head. None
/// does who follows another that was elected or named since.
bool Cluster::all_can_tell() const {
  if (decided_.empty()) return true;
  const Generation& last = decided_.rbegin()->second;
  return std::ranges::all_of(hosts_, [&](const auto& each) {
    if (each->agent_id() == 0) return true;
    const std::optional<Leader>& leader = each->uplink()->served_by();
    if (leader && host_of_.at(leader->agent) != story_.founder) return false;
    return can_tell(*each, last);
  });
}

/// Whether nobody can be elected, all nodes are there, and all of them can tell: another process
/// founds where the head listened, and of two voters one is left, or of all nodes none. It gives
/// way for good to one that could not tell, even if that can by now.
bool Cluster::can_begin_anew() const {
  const auto is_there = [](const auto& each) { return each->agent_id() != 0; };
  if (decided_.empty() || !std::ranges::all_of(hosts_, is_there)) return false;
  const Generation& last = decided_.rbegin()->second;
  const Host& founder = founding_host();
  const bool was_head =
      host_of_.at(last.voters.head) == story_.founder && last.voters.head != founder.agent_id();
  const bool founds = founder.succession()->state() == Succession::State::leading;
  const bool of_two = last.voters.all.size() <= 2 && !last.voters.claim && all_can_tell() &&
                      (founds || all_could_tell_);
  const bool names_all = last.voters.all.size() == hosts_.size() && story_.have_places;
  const bool lives_none = std::ranges::none_of(
      hosts_, [&](const auto& each) { return last.voters.contains(each->agent_id()); });
  return was_head && !founder.succession()->knowledge() &&
         (of_two || (founds && names_all && lives_none));
}

/// What is left has to end or to go on, within what is waited for others at most. But a witness
/// waits for the first node without end.
void Cluster::expect_end_or_life() {
  const Instant bound = schedule_.now() +
                        std::max(gathering().join_timeout, gathering().replace_timeout) +
                        recovery() + Millis{60'000};
  const auto is_over = [&] {
    return one_lives() || std::ranges::all_of(hosts_, [](const auto& each) {
             return each->agent_id() == 0 || each->is_witness();
           });
  };
  if (can_begin_anew()) {
    play_until(schedule_.now() + recovery() + story_.last_call);
    if (!one_lives()) break_rule("L6: all are there, and nobody begins anew; " + state());
  }
  while (broken_.empty() && schedule_.now() < bound && !is_over()) {
    play_until(schedule_.now() + Millis{10'000});
  }
  if (broken_.empty() && !is_over()) break_rule("L5: it neither ends nor goes on; " + state());
}

}  // namespace ddprun::sim
