// What must hold whatever goes wrong with a pretended job: S1 to S15 of cluster.hpp, each looked at
// after the events that can break it.
#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ddprun::sim {

void Cluster::check_leads() {
  const Instant now = schedule_.now();
  const Millis drift = leases_.drift();
  int count = 0;
  for (const int index : leading_) {
    const std::optional<Instant> end = host(index).lead_end();
    if (!end || *end - drift <= now) continue;
    if (!host(index).succession()->knowledge()) continue;  // it founds
    if (++count > 1) break_rule("S9: two lead at once; " + state());
  }
}

void Cluster::check_lease(int index) {
  const Host& at = host(index);
  const std::optional<Instant> end = at.lease_end();
  if (!end) return leases_.has_none(index);
  const std::string broken = leases_.holds(schedule_.now(), index, at.lease_by(), *end);
  if (!broken.empty()) break_rule(broken + "; " + state());
}

/// Where voters claim it may have read the folder too early, and then claims nothing. By votes that
/// come late one may be elected whose lead is over already.
void Cluster::check_taken_lead(const Host& at, const TakeLead& lead) {
  if (!lead.record || at.succession()->knowledge()->place || decided_.empty()) return;
  if (!at.lead_end() || *at.lead_end() <= schedule_.now()) return;
  if (lead.record->number >= decided_.rbegin()->first) return;
  break_rule("S11: who is elected does not know what was decided; " + state());
}

void Cluster::check_succession(int index, const std::vector<SuccessionAction>& actions) {
  if (waits_for_moments_) note_moments(index, actions);
  const Host& at = host(index);
  const std::optional<Knowledge>& known = at.succession()->knowledge();
  const AgentId self = at.agent_id();
  for (const SuccessionAction& action : actions) {
    const auto* lead = std::get_if<TakeLead>(&action);
    if (lead == nullptr) continue;
    reigns_[index] = {self, lead->leader.reign};
    if (lead->record && story_.claims) outages_.leads(index, schedule_.now());
    if (!lead->record) all_could_tell_ = all_can_tell();
    check_taken_lead(at, *lead);
  }
  if (at.lead_end()) {
    leading_.insert(index);
    const std::string broken = leases_.leads(schedule_.now(), reigns_[index], *at.lead_end());
    if (!broken.empty()) break_rule(broken + "; " + state());
    check_leads();
  }
  for (const SuccessionAction& action : actions) {
    if (const auto* lead = std::get_if<TakeLead>(&action)) {
      say(fmt::format("n{} leads in epoch {}", index, lead->leader.epoch.value));
    } else if (std::holds_alternative<StepDown>(action)) {
      say(fmt::format("n{} steps down", index));
      outages_.leads_no_longer(index, schedule_.now());
      if (at.folder() == &other_folder_) causes_.disturb(schedule_.now());  // now it is noticed
    } else if (const auto* task = std::get_if<FolderTask>(&action)) {
      if (const auto* claim = std::get_if<ClaimPlace>(task)) {
        say_claim(index, claim->known);
        check_decision(index, claim->known);
      }
    } else if (std::holds_alternative<Decided>(action)) {
      if (known->decided) check_decision(index, *known);  // if not, it is the next one already
    } else if (const auto* changed = std::get_if<LeadChanged>(&action)) {
      if (changed->epoch == Epoch{} || at.by_all_clocks(changed->until) <= schedule_.now())
        continue;
      const bool first = known->record.restart_count == 0;
      if (first && changed->epoch == known->record.epoch) found_job(at, known->place.has_value());
      const auto leader = leaders_.emplace(changed->epoch, self).first;
      if (leader->second != self) break_rule("S9: two leaders of one epoch; " + state());
    } else if (const auto* send = std::get_if<SendBallot>(&action)) {
      if (const auto* request = std::get_if<VoteRequest>(&send->ballot)) name_voters(*request);
      if (const auto* follows = std::get_if<Following>(&send->ballot)) acceptances_.said(*follows);
      if (std::holds_alternative<Vote>(send->ballot)) check_vote(index, send->address);
      if (prints_ == Prints::events) say_ballot(index, *send);
    }
  }
  note_knowledge(at);
  if (known && known->record.founding.founder == founder_) {
    knew_[self] = std::max(knew_[self], known->record.number);
  }
  if (!known || !known->decided) return;
  if (std::ranges::find(buried_, known->record) != buried_.end()) return;
  const auto first = decided_.find(known->record.number);
  if (first == decided_.end()) {
    decided_.emplace(known->record.number, known->record);
    decided_at_.push_back({schedule_.now(), known->record.voters});
  } else if (first->second.epoch != known->record.epoch) {
    break_rule("S10: two generations of one number; " + state());
  }
}

/// Its leader that asks for a higher epoch is followed on.
void Cluster::check_vote(int index, const std::string& candidate) {
  const Host& at = host(index);
  if (!named_.contains(at.agent_id())) break_rule("S12: who has no vote votes; " + state());
  const bool goes_on = host_of_[at.lease_by().leader] == host_at(candidate);
  if (at.living() == nullptr || goes_on) return;
  break_rule(fmt::format("S14: n{} has workers, and votes for {}; {}", index, candidate, state()));
}

/// Only the first record's voters have been asked whether they see the folder.
void Cluster::check_decision(int index, const Knowledge& known) {
  const Voters& voters = known.record.voters;
  const std::string broken = acceptances_.decides(host(index).agent_id(), known);
  if (!broken.empty()) break_rule(broken + "; " + state());
  if (!voters.claim || !decided_.empty() || story_.other_folder < 0) return;
  const AgentId other = host(story_.other_folder).agent_id();
  const AgentId self = host(index).agent_id();
  if (voters.contains(other) && voters.contains(self) && voters.all.size() > 1)
    break_rule("S15: they claim, although one sees another folder; " + state());
}

void Cluster::say_ballot(int index, const SendBallot& send) const {
  if (const auto* request = std::get_if<VoteRequest>(&send.ballot)) {
    say(fmt::format("n{} asks {} in epoch {}", index, send.address, request->epoch.value));
  } else if (const auto* vote = std::get_if<Vote>(&send.ballot)) {
    say(fmt::format("n{} votes for {} in epoch {}", index, send.address, vote->epoch.value));
  }
}

void Cluster::say_claim(int index, const Knowledge& known) const {
  std::string voters;
  for (const Voter& voter : known.record.voters.all) voters += " " + voter.host;
  say(fmt::format("n{} claims {} with{}", index, known.place->number, voters));
}

void Cluster::name_voters(const VoteRequest& request) {
  candidacies_.emplace(request.candidate.agent, request.epoch);
  for (const Voters& voters : request.electors) {
    for (const Voter& voter : voters.all) named_.insert(voter.agent);
  }
}

/// Nobody may start the job again beside itself; but when it is lost, somebody has to.
void Cluster::found_job(const Host& founder, bool claims) {
  const bool is_new = founder_ != 0 && founder_ != founder.agent_id();
  const bool lives = claims_ ? a_claimant_knows() && !may_found_beside(founder)
                             : !decided_.empty() && majority_lives(-1);
  if (is_new && lives) break_rule("S9: the job is founded again while it lives; " + state());
  founder_ = founder.agent_id();
  claims_ = claims;
  if (claims) job_folder_ = founder.folder();
  if (!is_new) return;
  say("the job was lost, and is founded again");
  last_known_.clear();
  founded_again_ = schedule_.now();
  leaders_.clear();
  knew_.clear();
  for (const auto& [number, record] : std::exchange(decided_, {})) buried_.push_back(record);
  parts_.clear();
  spawned_ = {};
  newest_on_.clear();
  causes_.begin_anew();
}

void Cluster::starts_beside(int host, const Part& old, const Part& part) {
  break_rule(fmt::format("S1: generation {} starts on n{} beside what is left of {}; {}",
                         part.number.value,
                         host,
                         old.number.value,
                         state()));
}

void Cluster::says_none_left(int host) {
  break_rule(fmt::format("S1: n{} says that none of its workers is left; {}", host, state()));
}

void Cluster::check_lives() {
  const Part* living = nullptr;
  AgentId job = 0;  // both may have a generation of that number
  for (const auto& each : hosts_) {
    const Part* here = each->living();
    if (here == nullptr) continue;
    const bool same = living == nullptr || (here->number == living->number && each->job() == job &&
                                            here->master_address == living->master_address);
    if (!same) break_rule("S1: two generations live at once; " + state());
    living = here;
    job = each->job();
  }
}

/// Where a generation starts is where two may begin to live at once.
void Cluster::started(int host, const Part& part) {
  did(host, Moment::starts);
  say(fmt::format("n{} starts generation {} of {} nodes ({})",
                  host,
                  part.number.value,
                  part.group_world_size,
                  part.cause));
  mix(part.number.value);
  if (!parts_.contains(part.number)) {
    if (const std::string broken = causes_.started(schedule_.now(), part); !broken.empty()) {
      break_rule(broken + "; " + part.cause);
    }
  }
  if (part.number != spawned_) check_lives();
  spawned_ = part.number;
  check_place(part);
  if (!decided_.contains(part.number)) break_rule("S10: an undecided generation starts");
  GenerationNumber& newest = newest_on_[host];
  if (part.number <= newest) break_rule("S3: a generation was started again");
  newest = part.number;
  const int count = part.group_world_size;
  if (count < story_.nodes_min || count > story_.nodes_max)
    break_rule("S4: a wrong number of nodes");
}

/// Against its neighbours in order, which were held against theirs.
void Cluster::check_place(const Part& part) {
  const auto common = [](Part whole) {
    whole.group_rank = 0;
    whole.first_rank = Rank{};
    whole.worker_count = 0;
    whole.store_peers.clear();  // one member has them
    return whole;
  };
  const auto apart = [](const Part& one, const Part& next) {
    return one.first_rank.value + one.worker_count <= next.first_rank.value;
  };
  auto& others = parts_[part.number];
  const auto next = others.lower_bound(part.group_rank);
  const bool taken = next != others.end() && next->first == part.group_rank;
  const bool fits = (next == others.end() || apart(part, next->second)) &&
                    (next == others.begin() || apart(std::prev(next)->second, part)) &&
                    part.first_rank.value + part.worker_count <= part.world_size;
  if (taken || !fits) break_rule("S2: two members have the same ranks");
  if (!others.empty() && common(others.begin()->second) != common(part)) {
    break_rule("S2: two records of one number");
  }
  others.emplace(part.group_rank, part);
}

}  // namespace ddprun::sim
