// The succession as the leader: it says so, and has records decided.
#include "rendezvous/succession.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

bool Succession::founding() const {
  return state_ == State::leading && leader_->epoch == Epoch{};
}

/// Another job lives, or this one goes on elsewhere: whoever came here is sent on.
void Succession::give_way(Actions& out) {
  state_ = State::following;
  leader_.reset();
  out.emplace_back(StepDown{});
  out.emplace_back(Unfollow{});
}

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

void Succession::announce(Instant now, Actions& out) {
  announce_at_ = now + options_.times.heartbeat();
  bool told = options_.endpoint == options_.self.address || options_.endpoint.empty();
  for (const Voter& voter : others()) {
    tell(now, voter, out);
    told = told || voter.address == options_.endpoint;
  }
  if (told || founding() || now < call_at_) return;
  call_at_ = now + options_.call_interval;
  out.emplace_back(SendBallot{options_.endpoint,
                              Leading{*leader_, now, known_->id(), known_->decided, std::nullopt}});
}

void Succession::tell(Instant now, const Voter& voter, Actions& out) {
  Leading leading{*leader_, now, known_->id(), known_->decided, std::nullopt};
  const auto accepted = accepted_.find(voter.agent);
  if (accepted == accepted_.end() || accepted->second != known_->id()) leading.whole = known_;
  out.emplace_back(SendBallot{voter.address, std::move(leading)});
}

void Succession::take(Instant now, const Following& following, Actions& out) {
  if (state_ != State::leading) return;
  highest_ = std::max(highest_, following.epoch);
  if (founding()) return;  // it has told nobody anything
  if (following.epoch < leader_->reign || following.epoch > leader_->epoch) return;
  const Instant before = lead_.until();
  lead_.heard(following.voter, following.sent);
  if (lead_.until() != before) lead_changed(out);
  accepted_[following.voter] = following.record;
  decide_if_accepted(now, out);
}

void Succession::propose(Instant now, Generation record, Actions& out) {
  if (founding()) leader_->epoch = Epoch{superseded_.value + 1};
  pledge_.follow(*leader_);
  const Voter& self = options_.self;
  record.epoch = leader_->epoch;
  record.voters.head = self.agent;
  std::vector<Voter>& voters = record.voters.all;
  std::erase_if(voters, [&](const Voter& voter) { return voter.agent == self.agent; });
  voters.insert(voters.begin(), self);
  if (voters.size() > Voters::count_max) voters.resize(Voters::count_max);
  known_ = Knowledge{std::move(record), leader_->epoch, base_, false};
  accepted_[self.agent] = known_->id();
  if (lead_.electors().empty()) lead_.set_electors({base_});
  lead_changed(out);
  out.emplace_back(VotersChanged{known_->record.voters.all});
  announce(now, out);
  decide_if_accepted(now, out);
}

void Succession::decide_if_accepted(Instant now, Actions& out) {
  if (known_->decided) return;
  std::set<AgentId> agents;
  for (const auto& [agent, record] : accepted_) {
    if (record == known_->id()) agents.insert(agent);
  }
  if (!known_->before.is_majority(agents) || !known_->record.voters.is_majority(agents)) return;
  known_->decided = true;
  base_ = known_->record.voters;
  lead_.set_electors({base_});
  lead_changed(out);
  if (known_->record.epoch >= leader_->reign) {
    out.emplace_back(Decided{known_->record.number});
  }
  announce(now, out);
  if (wanted_) propose(now, *std::exchange(wanted_, std::nullopt), out);
}

void Succession::lead_changed(Actions& out) {
  out.emplace_back(LeadChanged{lead_.until(), leader_->epoch});
}

/// Until its promises to itself are over it elects nobody else.
void Succession::step_down(Instant now, Actions& out) {
  state_ = State::following;
  election_.reset();
  leader_.reset();
  heard_ = patience_ = now;
  pledge_.abstain(now + options_.times.lease());
  out.emplace_back(StepDown{});
  out.emplace_back(Unfollow{});
}

}  // namespace ddprun
