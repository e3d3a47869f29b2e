// The succession as a candidate, and as a leader that asks for a higher epoch.
#include "rendezvous/succession/succession.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

/// The last step of splitmix64 (Steele, Lea, Flood 2014): agents are random, so this is too.
std::int64_t scattered(AgentId agent, Epoch epoch, Millis below) {
  std::uint64_t mixed = agent + static_cast<std::uint64_t>(epoch.value) * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return static_cast<std::int64_t>((mixed >> 33) % static_cast<std::uint64_t>(below.count));
}

}  // namespace

/// When it stands if there is no leader by then; nothing if it never does.
std::optional<Instant> Succession::stand_at() const {
  const AgentId self = options_.self.agent;
  if (state_ != State::following || workers_live_) return std::nullopt;
  if (!known_ || job_over_ || resigned_) return std::nullopt;
  if (known_->place && options_.folder.empty()) return std::nullopt;
  const bool may_be_undecided = known_->place || !known_->decided;
  const bool is_elector =
      known_->record.voters.contains(self) || (may_be_undecided && known_->before.contains(self));
  if (!is_elector) return std::nullopt;
  const Millis lease = options_.times.lease;
  const int place = known_->record.voters.place_of(self);
  Instant turn = patience_ + lease + lease / 4 * place;
  if (laggard_at_ > patience_) {
    turn = std::min(turn, std::max(laggard_at_, patience_ + lease) + lease / 12 * (place + 1));
  }
  if (names_self_) turn = patience_ + lease;
  return std::max({turn, stand_after_, pledge_.until()});
}

/// A voter that knows a record which a candidate has missed does not elect it. Such a voter waits
/// not for its turn, only for a round trip, since the other voters may be enough.
void Succession::heed_laggard(Instant now) {
  if (laggard_at_ > patience_) return;
  laggard_at_ = now;
  stand_after_ = std::min(stand_after_, now);
}

void Succession::stand(Instant now, Actions& out) {
  if (claims()) return read_claims(now, out);
  unfollow(out);
  state_ = State::standing;
  raise_epoch(now, out);
}

/// Asks for votes in the next epoch, also as the leader: a voter of a failed election in a higher
/// epoch can no longer follow this one.
void Succession::raise_epoch(Instant now, Actions& out) {
  const Epoch epoch = next_epoch();
  pledge_.vote(now + options_.times.lease, epoch, options_.self.agent);
  election_.emplace(options_.self.agent, epoch, now, options_.times);
  ask(now, out);
}

/// Also the leader, for a higher epoch.
void Succession::ask(Instant now, Actions& out) {
  if (highest_ >= election_->epoch()) {
    election_->raise(now, Epoch{highest_.value + 1});
    pledge_.vote(now + options_.times.lease, election_->epoch(), options_.self.agent);
  }
  election_->asked(now);
  for (const Voter& voter : others()) {
    VoteRequest request{options_.self,
                        election_->epoch(),
                        now,
                        known_->id(),
                        electors(),
                        known_->record.founding,
                        {}};
    if (names_self_) request.resigned = {names_self_->leader, names_self_->epoch};
    out.emplace_back(SendBallot{voter.address, std::move(request)});
  }
  conclude_election(now, out);
}

/// A vote may come after the candidate has given up, for a request that travelled long: the
/// release may have overtaken the request, or have been lost.
///
/// If a voter knows that the record is decided, its own voters are enough. Those before it may be
/// lost by now.
void Succession::hear(Instant now, const Vote& vote, Actions& out) {
  if (vote.epoch == given_up_) return release_again(vote.voter, out);
  if (!election_ || vote.epoch != election_->epoch()) return;
  if (state_ == State::standing && vote.decided == known_->id()) known_->decided = true;
  election_->count(now, vote);
  if (state_ == State::leading) reign_->lead.heard(vote.voter, vote.sent);
  conclude_election(now, out);
}

void Succession::conclude_election(Instant now, Actions& out) {
  if (!election_->won(electors())) return;
  if (state_ == State::standing) return be_elected(now, out);
  leader_->epoch = election_->epoch();
  pledge_.follow(*leader_);
  election_.reset();
  if (!known_->decided) known_->accepted = leader_->epoch;
  reign_->accepted[options_.self.agent] = known_->id();
  lead_changed(out);
  announce(now, out);
  decide_if_accepted(now, out);
}

void Succession::be_elected(Instant now, Actions& out) {
  const Election election = *std::exchange(election_, std::nullopt);
  reign_.emplace();
  reign_->lead = Lead(options_.self.agent, options_.times, electors());
  for (const auto& [voter, sent] : election.votes()) reign_->lead.heard(voter, sent);
  if (!known_->decided) known_->accepted = election.epoch();
  take_lead(now, election.epoch(), election.last_vote() - options_.times.lease, out);
}

/// It inherits the record that it knows.
void Succession::take_lead(Instant now, Epoch epoch, Instant old_head_heard, Actions& out) {
  const Voter& self = options_.self;
  state_ = State::leading;
  highest_ = std::max(highest_, epoch);
  leader_ = Leader{self.agent, self.host, self.address, epoch, epoch, known_->record.founding};
  reign_->base = known_->decided ? known_->record.voters : known_->before;
  reign_->base_of = decided_record();
  reign_->accepted = {{self.agent, known_->id()}};
  reign_->call_at = now;
  TakeLead lead{*leader_, known_->record, old_head_heard, {}};
  if (names_self_) {  // since then it has followed nobody, and so knows no newer record
    lead.old_head_heard = now;
    lead.legacy = names_self_->legacy;
    names_self_.reset();
  }
  out.emplace_back(std::move(lead));
  lead_changed(out);
  tell_voters(out);
  out.emplace_back(Follow{*leader_});
  announce(now, out);
  decide_if_accepted(now, out);
}

void Succession::release_again(AgentId voter, Actions& out) const {
  answer(voter, Release{options_.self.agent, *given_up_}, out);
}

/// A voter must not stay bound to a candidate that will not be elected.
void Succession::give_up(Instant now, Actions& out) {
  const Epoch epoch = election_->epoch();
  const Voter& self = options_.self;
  highest_ = std::max(highest_, epoch);
  election_.reset();
  if (state_ == State::leading) return;  // they go on following
  given_up_ = epoch;
  names_self_.reset();
  for (const Voter& voter : others()) {
    out.emplace_back(SendBallot{voter.address, Release{self.agent, epoch}});
  }
  pledge_.release(epoch, self.agent);
  state_ = State::following;
  const Millis lease = options_.times.lease;
  const int place = known_->record.voters.place_of(self.agent);
  const Millis random{scattered(self.agent, epoch, lease / 2)};
  stand_after_ = now + lease / 4 * (place + 1) + random;
}

}  // namespace ddprun
