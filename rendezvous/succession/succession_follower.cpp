// The succession as a follower: its leader, the records that it accepts, and jobs that it leaves.
#include "rendezvous/succession/succession.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace ddprun {

void Succession::hear(Instant now, const Refusal& refusal, Actions& out) {
  highest_ = std::max(highest_, refusal.epoch);
  if (founding() && calls_endpoint()) give_way(out);  // V6
  if (!refusal.leader) return;
  const bool is_of_this_job = claims() && refusal.leader->founding == job();
  if (!is_of_this_job) return on(now, HeardOf{*refusal.leader}, out);
  const AgentId named = refusal.leader->agent;
  const bool is_other = named != refusal.voter && named != options_.self.agent;
  if (state_ == State::leading && is_other) reign_->newer_head = refusal.leader->address;
}

/// As if it had been heard when it still led, at the latest.
void Succession::hear(Instant now, const SteppedDown& stepped_down, Actions& out) {
  const bool is_followed = leader_ && leader_->agent == stepped_down.leader;
  if (!is_followed || leader_->epoch != stepped_down.epoch) return;
  if (stepped_down.successor == options_.self.agent) names_self_ = stepped_down;
  if (stepped_down.successor != 0) return be_free(now, out);
  const Instant bound_since = now + stepped_down.binds - options_.times.lease;
  heard_ = patience_ = std::min(heard_, std::max(heard_before_, bound_since));
  unfollow(out);
}

/// The leader resigned while it led, so that no other led, and starts nothing any more. The voter
/// that it named stands first; the others wait.
void Succession::be_free(Instant now, Actions& out) {
  if (!names_self_) stand_after_ = std::max(stand_after_, now + options_.times.lease / 4);
  heard_ = patience_ = std::min(heard_, now - options_.times.lease);
  unfollow(out);
}

void Succession::hear(Instant now, const Leading& leading, Actions& out) {
  const Leader& leader = leading.leader;
  if (leader.agent == options_.self.agent || is_late(leader)) return;
  highest_ = std::max(highest_, leader.epoch);
  if (leader.epoch == Epoch{}) return answer_founder(leader, out);
  if (founding()) give_way(out);  // V6
  if (is_of_earlier_job(leader.founding)) return answer_earlier_job(now, leader, out);
  if (leader.founding > job()) leave_job(now, out);  // V9
  if (state_ == State::leading) {
    if (!yields_to(now, leading)) {
      const bool is_outdated = claims() && leading.claimed < claimed();
      return is_outdated ? call(now, leader.address, out) : refuse(leader.address, out);
    }
    step_down(now, out);
    heard_ = {};
  }
  if (state_ == State::standing) {
    if (leader.epoch <= election_->epoch()) return;  // it may be over; if not, this comes again
    give_up(now, out);
  }
  const bool knows_more = claims() && leading.claimed < claimed();
  if (!knows_more) patience_ = now;
  if (!may_follow(now, leading)) {
    const bool is_stale = claims() && leading.claimed < folder_.newest();
    if (is_stale && folder_.look_is_due(now)) read_claims(now, out);
    return refuse(leader.address, out, knows_more ? leader_ : std::nullopt);
  }
  const std::size_t count = out.size();
  follow(leader, out);
  heard_ = now;
  const bool is_followed_anew = out.size() != count;
  const RecordId before = decided_record();
  learn(leading);
  if (decided_record() != before && known_->decided) {
    if (before == RecordId{} && !is_followed_anew) out.emplace_back(Follow{leader});  // V6
    out.emplace_back(VotersChanged{known_->record.voters, known_->id(), leader});
  }
  if (!is_voter()) return;
  out.emplace_back(SendBallot{
      leader.address, Following{options_.self.agent, leader.epoch, leading.sent, known_->id()}});
}

/// The caller asks whether this process knows of the job, which must not be founded twice.
void Succession::answer_founder(const Leader& founder, Actions& out) {
  if (state_ != State::following || leader_ || known_) refuse(founder.address, out);
}

/// For an undecided claim, this process's leader knows the newest.
bool Succession::is_news(const Knowledge& whole) const {
  if (!known_) return true;
  if (!whole.place || !known_->place) return whole.id() > known_->id();
  const std::int64_t place = known_->place->number;
  return whole.place->number > place ||
         (whole.place->number == place && !known_->decided && whole.id() != known_->id());
}

void Succession::learn(const Leading& leading) {
  const std::int64_t before = claimed();
  if (leading.whole && is_news(*leading.whole)) known_ = leading.whole;
  if (known_ && leading.decided && leading.record == known_->id()) known_->decided = true;
  if (claimed() > before) folder_.forget_passes();
}

/// A leader that asked for a higher epoch leads in the lower one until it is elected.
bool Succession::may_follow(const Leader& leader) const {
  return pledge_.allows(leader) || (leader_ && leader_->continues(leader));
}

/// Several may gather: a voter stays with its leader, as long as it hears it, unless
/// another has claimed a newer place.
bool Succession::may_follow(Instant now, const Leading& leading) const {
  if (!may_follow(leading.leader)) return false;
  if (leading.claimed != 0 && leading.claimed < folder_.newest()) return false;
  if (!claims() || (leader_ && leader_->continues(leading.leader))) return true;
  if (leading.claimed != claimed()) return leading.claimed > claimed();
  return !workers_live_ && now >= heard_ + options_.times.lease;
}

/// The job that it takes part in, if any.
Founding Succession::job() const {
  const Founding followed = leader_ ? leader_->founding : Founding{};
  return known_ ? std::max(known_->record.founding, followed) : followed;
}

bool Succession::is_of_earlier_job(const Founding& other) const {
  return !other.is_none() && (other <= left_ || other < job());
}

/// Tells that job the leader of this one, if there is one.
void Succession::answer_earlier_job(Instant now, const Leader& leader, Actions& out) {
  if (state_ == State::finished || !leader_ || job_over_) return;
  const bool fresh = state_ == State::leading || now < patience_ + options_.times.lease;
  if (!fresh) return;
  out.emplace_back(
      SendBallot{leader.address, Refusal{options_.self.agent, leader_->epoch, leader_}});
}

/// Another job continues. It never takes part in this one again, so its promises there hold.
void Succession::leave_job(Instant now, Actions& out) {
  if (state_ == State::finished || job_over_ || job().is_none()) return;
  left_ = std::max(left_, job());
  if (state_ == State::leading) step_down(now, out);
  if (state_ == State::standing) give_up(now, out);
  unfollow(out);
  known_.reset();
  pledge_ = {};
  stand_after_ = {};
  folder_.forget_claims();
}

/// The job is over: no process holds, or will hold, a promise of this one.
void Succession::forget_job() {
  state_ = State::following;
  election_.reset();
  remember_as_over();
  known_.reset();
  leader_.reset();
  pledge_ = {};
}

/// Whether the record that this process has accepted may be decided, and the lost leader has told
/// others so or has linked it: then they elect another leader, or this process claims.
bool Succession::may_go_on_without(AgentId leader) const {
  return !known_->decided && known_->record.voters.outlive({leader});
}

/// For a lease since it first heard of the process at the lost leader's place; then it forgets when
/// it hears of that again. In that time who knows of the decision calls that process, which gives
/// way, and this one reads the folder.
bool Succession::still_waits(Instant now, AgentId replacement, Actions& out) {
  if (replacement_.agent != replacement) {
    replacement_ = {replacement, now + options_.times.lease};
  }
  if (state_ == State::following && now >= replacement_.forget_at) return false;
  const bool may_look = claims() && !options_.folder.empty() && folder_.look_is_due(now);
  if (may_look) read_claims(now, out);
  return true;
}

/// From now on it may follow another process at the leader's address, in any epoch. It keeps its
/// own promises: a record that it does not know may name it. A record that does not name it was
/// meant for an earlier process at its own address.
void Succession::forget_leader(Actions& out) {
  remember_as_over();
  known_.reset();
  unfollow(out);
  pledge_.forget_leader();
}

void Succession::remember_as_over() {
  if (known_) forgotten_.record = std::max(forgotten_.record, known_->id());
  if (job().is_none()) return;
  forgotten_.job = job();
  forgotten_.epoch =
      std::max(leader_ ? leader_->epoch : Epoch{}, known_ ? known_->accepted : Epoch{});
}

/// A leader of the forgotten job may be elected after all, of a record that was not known here.
bool Succession::is_late(const Leader& leader) const {
  return !leader.founding.is_none() && leader.founding == forgotten_.job &&
         leader.epoch <= forgotten_.epoch;
}

void Succession::follow(const Leader& leader, Actions& out) {
  const bool is_new = !leader_ || !leader_->continues(leader);
  if (is_new) heard_before_ = heard_;
  if (is_new) names_self_.reset();
  if (is_new || leader.epoch > leader_->epoch) leader_ = leader;
  pledge_.follow(leader);
  if (is_new) out.emplace_back(Follow{leader});
}

void Succession::unfollow(Actions& out) {
  if (leader_) out.emplace_back(Unfollow{});
  leader_.reset();
}

void Succession::refuse(const std::string& address,
                        Actions& out,
                        std::optional<Leader> in_favour_of) {
  const Epoch known = std::max(pledge_.epoch(), leader_ ? leader_->epoch : Epoch{});
  out.emplace_back(
      SendBallot{address, Refusal{options_.self.agent, known, std::move(in_favour_of)}});
}

}  // namespace ddprun
