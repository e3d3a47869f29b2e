// The succession if voters claim: a voter that hears no leader looks for the newest claim, gathers
// the nodes that are left of it, and claims the next place.
#include "rendezvous/succession/succession.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

constexpr int passes_max = 2;

}  // namespace

bool Succession::claims() const {
  return state_ == State::leading ? reign_->claimed.has_value() : known_ && known_->place;
}

/// The newest place that this process knows to be claimed.
std::int64_t Succession::claimed() const {
  if (state_ == State::leading) return reign_->claimed ? reign_->claimed->number : 0;
  return known_ ? known_->claimed() : 0;
}

void Succession::on(Instant now, const FolderAnswer& answer, Actions& out) {
  if (state_ == State::finished) return;
  std::visit([&](const auto& what) { hear(now, what, out); }, answer);
}

/// V7: before it gathers, and while it does; and before it forgets a job that may be claimed.
void Succession::read_claims(Instant now, Actions& out) {
  if (state_ == State::following) {
    reread_at_ = now + options_.times.lease / 4;
    stand_after_ = std::max(stand_after_, reread_at_);
  }
  if (!folder_.begin_look(now + options_.call_interval)) return;
  const FolderId folder =
      state_ == State::leading ? reign_->claimed->folder : known_->place->folder;
  const bool may_be_there =
      known_ && known_->place && (known_->decided || now < replacement_.forget_at);
  out.emplace_back(FolderTask(ReadClaims{folder, may_be_there ? known_->place->number : 0}));
}

void Succession::hear(Instant now, const ClaimsRead& read, Actions& out) {
  folder_.end_look();
  if (!claims() || !read.newest || folder_.is_claiming()) return;
  const Knowledge& newest = *read.newest;
  const std::int64_t place = newest.claimed();
  folder_.saw(place);
  if (state_ == State::leading) {
    if (place > claimed()) adopt(now, newest, out);
    return;
  }
  if (state_ != State::following || place < claimed()) return;
  const bool is_named = newest.record.voters.contains(options_.self.agent);
  const bool is_on_its_way = place == known_->place->number - 1;  // what this process has accepted
  const bool is_of_another = is_of_earlier_job(newest.record.founding);  // V9
  if (is_on_its_way && (!is_named || is_of_another)) return;
  if (is_of_another || !is_named || (!is_on_its_way && newest.id() != known_->id()))
    return adopt(now, newest, out);
  if (!std::exchange(known_, newest)->decided) {  // its agent may not know these voters
    out.emplace_back(VotersChanged{newest.record.voters, newest.id(), leader_.value_or(Leader{})});
  }
  if (stand_after_ == reread_at_) stand_after_ = {};
  const auto turn = stand_at();
  if (turn && now >= *turn) gather(now, out);
}

/// Its head may live: a voter that is named waits for it, and may claim the place after it; others
/// join it as new nodes.
void Succession::adopt(Instant now, const Knowledge& newest, Actions& out) {
  if (founding()) {
    give_way(out);
  } else if (state_ == State::leading) {
    step_down(now, out);
  } else {
    unfollow(out);
  }
  patience_ = now;
  folder_.heard_of(newest.claimed());
  known_.reset();
  names_self_.reset();
  const bool is_left = newest.record.founding <= left_ && !left_.is_none();
  if (newest.record.voters.contains(options_.self.agent) && !is_left) known_ = newest;
  folder_.forget_passes();
}

/// The old head's lead was over when this process had heard no leader for a lease.
void Succession::gather(Instant now, Actions& out) {
  unfollow(out);
  const Epoch epoch = next_epoch();
  reign_.emplace();
  reign_->claimed = known_->place;
  reign_->lead = Lead(options_.self.agent, options_.times, {known_->record.voters});
  take_lead(now, epoch, now - options_.times.lease, out);
}

/// Every heartbeat of a leader. Its epoch binds no voter here, so it may grow freely.
void Succession::keep_gathering(Instant now, Actions& out) {
  if (highest_ > leader_->epoch) {
    highest_ = leader_->epoch = next_epoch();
    lead_changed(out);
  }
  const bool waits_for_voters = !known_->decided && !folder_.is_claiming();
  if (waits_for_voters && now >= reign_->accept_by) claim_without_silent(now, out);
  reign_->beats_in_vain = gathers_in_vain(now) ? reign_->beats_in_vain + 1 : 0;
  if (options_.times.heartbeat * reign_->beats_in_vain >= options_.times.dead_after * 2) {
    return let_others_try(now, Vain::gathering, time_to_claim(), out);
  }
  const bool may_look = folder_.look_is_due(now) && !folder_.is_claiming();
  if (now >= reign_->lead.until() && may_look) read_claims(now, out);
}

/// Others may hear it although it does not hear them; they would gather if they heard no leader.
bool Succession::gathers_in_vain(Instant now) const {
  const bool may_be_decided = folder_.is_claiming() || !known_->decided;
  if (now < reign_->lead.until() || may_be_decided || !others_may_try(Vain::gathering))
    return false;
  if (std::ssize(known_->record.members) <= options_.nodes_min) return false;  // they were too few
  return std::ranges::none_of(reign_->base.all, [&](const Voter& voter) {
    return voter.agent != options_.self.agent &&
           reign_->lead.heard_after(now - options_.times.lease, voter.agent);
  });
}

/// What the others need besides two leases, in which they hear no leader and the first four have
/// their turns: a quarter of a lease for each later one, and dead-after until lost nodes count as
/// lost.
Millis Succession::time_to_claim() const {
  constexpr int in_two_leases = 4;
  const int later = std::max(0, static_cast<int>(reign_->base.all.size()) - in_two_leases);
  return options_.times.dead_after + options_.times.lease / 4 * later;
}

/// The others get two turns after each kind of failure, until a newer claim is known; if they fail
/// as well, this leader goes on. Who can gather again may yet fail to claim, so the kinds are
/// counted apart.
bool Succession::others_may_try(Vain after) const {
  return !job_over_ && reign_->base.all.size() > 1 && folder_.passes(after) < passes_max;
}

/// They hear no leader for a lease, and need `pause` besides until they have claimed.
void Succession::let_others_try(Instant now, Vain after, Millis pause, Actions& out) {
  folder_.pass(after);
  step_down(now, out);
  stand_after_ = now + options_.times.lease * 2 + pause;
}

/// A voter that has not accepted this record cannot claim after it, and need not know it.
void Succession::claim_without_silent(Instant now, Actions& out) {
  name_silent(out);
  std::erase_if(known_->record.voters.all, [&](const Voter& each) { return !has_accepted(each); });
  heed_new_voters(now, out);
  decide_if_accepted(now, out);
}

/// Voters that a claim under way names may claim after it, whether or not its answer arrives. So
/// they bind the lead before any of them hears of the record: a lease given without them could
/// outlive a lead that they bound later.
void Succession::heed_new_voters(Instant now, Actions& out) {
  std::vector<Voters> electors{reign_->base};
  if (folder_.may_be_linked()) electors = reign_->lead.electors();
  electors.push_back(known_->record.voters);
  reign_->lead.change_electors(now, std::move(electors));
  lead_changed(out);
}

void Succession::claim(Actions& out) {
  if (!folder_.begin_claim()) return;
  Knowledge decided = *known_;
  decided.decided = true;
  out.emplace_back(FolderTask(ClaimPlace{std::move(decided)}));
}

void Succession::hear(Instant now, const PlaceClaimed& claimed, Actions& out) {
  const bool is_bar = founder_.settlement.end_bar();
  folder_.end_claim(claimed.may_be_linked);
  const FolderId own{options_.self.agent};
  const FolderId folder =
      claims() ? known_->place->folder : own;  // the first records are all alike
  const bool is_ours = claimed.taken && claimed.taken->id() == claimed.record &&
                       claimed.taken->record.voters.head == options_.self.agent &&
                       claimed.taken->place->folder == folder;  // linked earlier
  if (claimed.taken && !is_ours) {
    const bool matters = founding() || (state_ == State::leading && claims());
    if (matters && claimed.taken->claimed() > this->claimed()) {
      adopt(now, *claimed.taken, out);
    }
    return;
  }
  if (founding()) {
    if (!is_bar || !reign_->wanted) return;
    founder_.settlement.conclude();
    out.emplace_back(FolderTask(CloseFolder{{options_.self.agent}}));
    return propose(now, *std::exchange(reign_->wanted, std::nullopt), out);
  }
  const bool is_newest = claims() && known_ && known_->id() == claimed.record;
  if (!is_newest) return;
  if (state_ != State::leading) return;  // the folder will tell
  if (!claimed.why.empty()) return claim_again(now, out);
  folder_.claimed();
  if (is_ours) known_->record.voters = claimed.taken->record.voters;  // none was left out there
  decided(now, out);
}

/// Half a heartbeat later, at least. A leader that has failed for a lease lets others try, and then
/// waits for the folder for as long as the coordinator does. Turns are counted, not time: while
/// this process was stopped the others may not have used theirs.
void Succession::claim_again(Instant now, Actions& out) {
  const Millis fails_for = folder_.failed(now, now + options_.times.heartbeat / 2);
  reign_->accept_by = now;
  if (fails_for >= options_.times.lease && others_may_try(Vain::claiming)) {
    folder_.give_up_claim(claimed() + 1);
    let_others_try(now, Vain::claiming, Millis{}, out);
  } else if (reign_->wanted) {
    propose(now, *std::exchange(reign_->wanted, std::nullopt), out);
  }
}

/// Of several that gather, the newest claim's own head goes on, else the first in order. None
/// yields while its claim is under way, unless that place is taken already.
bool Succession::yields_to(Instant now, const Leading& leading) {
  if (!claims() || (folder_.is_claiming() && leading.claimed <= claimed())) return false;
  const std::int64_t own = claimed() + (folder_.may_be_linked() ? 1 : 0);
  if (leading.claimed != own) return leading.claimed > own;
  if (now < reign_->lead.until()) return false;
  const auto rank = [&](AgentId agent) {
    return agent == reign_->base.head ? -1 : reign_->base.place_of(agent);
  };
  const AgentId other = leading.leader.agent;
  return reign_->base.contains(other) && rank(other) < rank(options_.self.agent) &&
         is_heard_again(now, other);
}

/// What a cut has held up arrives all at once, when who sent it may be lost. Who gathers is heard
/// each heartbeat.
bool Succession::is_heard_again(Instant now, AgentId rival) {
  Instant& since = reign_->rivals.try_emplace(rival, now).first->second;
  if (now - since > options_.times.lease) since = now;
  return now - since >= options_.times.heartbeat / 2;
}

}  // namespace ddprun
