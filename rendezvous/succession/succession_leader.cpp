// The succession as the leader: it announces its lead, and has records decided.
#include "rendezvous/succession/succession.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

std::vector<Voter> Succession::others() const {
  std::vector<Voter> all;
  const auto add = [&](const Voters& voters) {
    for (const Voter& voter : voters.all) {
      const bool known = std::ranges::find(all, voter.agent, &Voter::agent) != all.end();
      const bool own = voter.address == options_.self.address;  // it may be of an earlier life
      if (!known && !own) all.push_back(voter);
    }
  };
  if (!known_) return all;
  add(known_->record.voters);
  add(known_->before);
  return all;
}

/// Where that voter listens, as far as is known.
void Succession::answer(AgentId voter, const Ballot& ballot, Actions& out) const {
  for (const Voter& each : others()) {
    if (each.agent == voter) out.emplace_back(SendBallot{each.address, ballot});
  }
}

void Succession::announce(Instant now, Actions& out) {
  reign_->announce_at = now + options_.times.heartbeat;
  if (founding()) ask_survey(out);
  bool told = false;
  for (const Voter& voter : others()) {
    tell(now, voter, out);
    told = told || voter.address == options_.endpoint;
  }
  if (!told && calls_endpoint() && now >= reign_->call_at) {  // V6
    reign_->call_at = now + options_.call_interval;
    call(now, options_.endpoint, out);
  }
  if (!reign_->newer_head.empty()) {  // it answers with its newest place
    call(now, std::exchange(reign_->newer_head, {}), out);
  }
  if (reign_->name_silent_at && now >= *reign_->name_silent_at) name_silent(out);
}

/// Without the record. At the endpoint a process may have started again, or lead a job of this
/// name; elsewhere a voter may gather after an older claim.
void Succession::call(Instant now, const std::string& address, Actions& out) {
  const RecordId record = known_ ? known_->id() : RecordId{};
  const bool decided = known_ && known_->decided;
  out.emplace_back(SendBallot{address, Leading{*leader_, now, record, decided, claimed(), {}}});
}

void Succession::tell(Instant now, const Voter& voter, Actions& out) {
  Leading leading{*leader_, now, known_->id(), known_->decided, claimed(), {}};
  const bool may_forget =
      claims() && !reign_->lead.heard_after(now - options_.times.lease, voter.agent);
  if (!has_accepted(voter) || may_forget) leading.whole = known_;
  out.emplace_back(SendBallot{voter.address, std::move(leading)});
}

bool Succession::has_accepted(const Voter& voter) const {
  const auto accepted = reign_->accepted.find(voter.agent);
  return accepted != reign_->accepted.end() && accepted->second == known_->id();
}

void Succession::name_silent(Actions& out) {
  reign_->name_silent_at.reset();
  for (const Voter& voter : known_->record.voters.all) {
    if (!has_accepted(voter)) out.emplace_back(VoterSilent{voter});
  }
}

void Succession::hear(Instant now, const Following& following, Actions& out) {
  if (state_ != State::leading) return deny_lead(now, following, out);
  highest_ = std::max(highest_, following.epoch);
  if (founding()) return;  // it has told no other process
  if (following.epoch < leader_->reign || following.epoch > leader_->epoch) return;
  const Instant before = reign_->lead.until();
  reign_->lead.heard(following.voter, following.sent);
  if (reign_->lead.until() != before) lead_changed(out);
  reign_->accepted[following.voter] = following.record;
  decide_if_accepted(now, out);
}

/// A message from its lead arrived late, and would bind that voter from then on. A lease after
/// the lead no voter is bound by it.
void Succession::deny_lead(Instant now, const Following& following, Actions& out) const {
  if (!stepped_down_at_) return;
  const Instant end = std::max(now, *stepped_down_at_ + options_.times.lease);
  SteppedDown denial = resigned_.value_or(SteppedDown{options_.self.agent});
  denial.epoch = following.epoch;
  denial.binds = end - now;
  answer(following.voter, denial, out);
}

/// Itself first. A claimant must have been a member, and know of which generation.
std::vector<Voter> Succession::voters_of(const Generation& record, Deciding how) const {
  const Voter& self = options_.self;
  std::vector<Voter> voters = record.voters.all;
  std::erase_if(voters, [&](const Voter& voter) {
    const auto is_it = [&](const Member& member) { return member.offer.agent == voter.agent; };
    const bool may = how == Deciding::by_votes || std::ranges::any_of(record.members, is_it);
    return voter.agent == self.agent || !may;
  });
  voters.insert(voters.begin(), self);
  if (voters.size() > Voters::count_max) voters.resize(Voters::count_max);
  return voters;
}

void Succession::propose(Instant now, Generation record, Actions& out) {
  if (folder_.is_claiming() || (founding() && !founder_.settlement.is_over())) {
    reign_->wanted = std::move(record);
    founder_.settlement.forget_survey();  // it may have other voters
    if (founding()) settle(now, out);
    return;
  }
  if (founding()) found(now, out);
  pledge_.follow(*leader_);
  const Voter& self = options_.self;
  record.founding = leader_->founding;
  record.epoch = leader_->epoch;
  record.voters.head = self.agent;
  record.voters.claim = claims();
  record.voters.all = voters_of(record, claims() ? Deciding::by_claims : Deciding::by_votes);
  known_ = Knowledge{std::move(record), leader_->epoch, reign_->base, false, std::nullopt};
  if (claims()) known_->place = Place{reign_->claimed->folder, reign_->claimed->number + 1};
  reign_->accept_by = now + options_.times.dead_after / 2;
  reign_->name_silent_at = now + options_.times.dead_after * 2;
  std::erase_if(reign_->accepted, [&](const auto& entry) {
    return !known_->record.voters.contains(entry.first) && !known_->before.contains(entry.first);
  });
  reign_->accepted[self.agent] = known_->id();
  if (claims()) {
    heed_new_voters(now, out);
  } else {
    lead_changed(out);
  }
  tell_voters(out);
  announce(now, out);
  decide_if_accepted(now, out);
}

void Succession::decide_if_accepted(Instant now, Actions& out) {
  if (known_->decided || founder_.mark_by) return;
  std::set<AgentId> agents;
  for (const auto& [agent, record] : reign_->accepted) {
    if (record == known_->id()) agents.insert(agent);
  }
  if (!known_->record.voters.is_majority(agents)) return;
  if (claims()) {
    if (folder_.may_claim(now)) claim(out);
    return;
  }
  if (known_->before.is_majority(agents)) decided(now, out);
}

void Succession::decided(Instant now, Actions& out) {
  known_->decided = true;
  reign_->claimed = known_->place;
  reign_->base = known_->record.voters;
  reign_->base_of = known_->id();
  reign_->lead.change_electors(now, {reign_->base});
  lead_changed(out);
  tell_voters(out);
  if (known_->record.epoch >= leader_->reign) {
    out.emplace_back(Decided{known_->record.number});
  }
  announce(now, out);
  if (reign_->wanted) propose(now, *std::exchange(reign_->wanted, std::nullopt), out);
}

/// The voters of the newest decided record: every election needs a majority of them.
void Succession::tell_voters(Actions& out) const {
  out.emplace_back(VotersChanged{reign_->base, reign_->base_of, *leader_});
}

void Succession::lead_changed(Actions& out) {
  out.emplace_back(LeadChanged{reign_->lead.until(), leader_->epoch});
}

/// The first in order.
const Voter* Succession::successor(Instant heard_after,
                                   Among among,
                                   const std::set<NodeId>& leavers) const {
  for (const Voter& voter : known_->record.voters.all) {
    const bool may = voter.agent != options_.self.agent && !leavers.contains(voter.node);
    const bool knows = among == Among::all || has_accepted(voter);
    if (may && knows && reign_->lead.heard_after(heard_after, voter.agent)) return &voter;
  }
  return nullptr;
}

/// Rather one that has accepted the newest record, or it may not be elected, and was heard lately.
const Voter* Succession::successor(Instant now, const std::set<NodeId>& leavers) const {
  const Instant lately = now - options_.times.heartbeat * 3;
  const Instant since = now - options_.times.lease;
  const Voter* best = successor(lately, Among::those_that_accepted, leavers);
  if (best == nullptr) best = successor(since, Among::those_that_accepted, leavers);
  if (best == nullptr && !known_->decided) best = successor(since, Among::all, leavers);
  return best;
}

/// No worker lives, so that its own promises and its voters' bind nobody any more.
void Succession::on(Instant now, const HandOver& asked, Actions& out) {
  if (state_ != State::leading) return;
  const bool leads = !founding() && now < reign_->lead.until();
  const Voter* next = leads ? successor(now, asked.leavers) : nullptr;
  if (next == nullptr) return (void)out.emplace_back(LeadKept{});
  resigned_ =
      SteppedDown{options_.self.agent, leader_->epoch, Millis{0}, next->agent, asked.legacy};
  std::vector<NodeId>& gone = resigned_->legacy.gone;
  if (gone.size() > SteppedDown::gone_max) gone.resize(SteppedDown::gone_max);
  for (const Voter& voter : others()) out.emplace_back(SendBallot{voter.address, *resigned_});
  step_down(now, out);
  stepped_down_at_ = heard_ = patience_ = now - options_.times.lease;
  pledge_.abstain(now);
}

/// Until its promises to itself are over it elects no other.
void Succession::step_down(Instant now, Actions& out) {
  state_ = State::following;
  election_.reset();
  reign_.reset();
  leader_.reset();
  stepped_down_at_ = now;
  heard_ = patience_ = now;
  pledge_.abstain(now + options_.times.lease);
  out.emplace_back(StepDown{resigned_.has_value()});
  out.emplace_back(Unfollow{});
}

}  // namespace ddprun
