// The succession as the founder, until there is a first record: it settles whether voters vote or
// claim, for the whole job.
#include "rendezvous/succession/succession.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

bool Succession::founding() const {
  return state_ == State::leading && leader_->epoch == Epoch{};
}

/// Whether it founds elsewhere than at the endpoint, where others look for the job.
bool Succession::calls_endpoint() const {
  return !options_.endpoint.empty() && options_.endpoint != options_.self.address;
}

/// Another job lives, or this one goes on elsewhere: agents that came here are sent there.
void Succession::give_way(Actions& out) {
  state_ = State::following;
  leader_.reset();
  reign_.reset();
  out.emplace_back(StepDown{});
  out.emplace_back(Unfollow{});
}

/// The coordinator's proposal may have too few nodes; it proposes again.
void Succession::find_mark(Epoch mark, const std::string& where, Actions& out) {
  if (mark == Epoch{} || !founding()) return;
  founder_.superseded = std::max(founder_.superseded, mark);
  if (founder_.settlement.is_barring() || std::exchange(founder_.mark_found, true)) return;
  reign_->wanted.reset();
  founder_.settlement.forget_survey();
  out.emplace_back(MarkFound{where});
}

/// No workers start before the founder's mark is kept, or the wait for the disk is over.
void Succession::found(Instant now, Actions& out) {
  leader_->epoch = Epoch{founder_.superseded.value + 1};
  leader_->founding = {leader_->epoch, options_.self.agent};
  keep_mark(out);
  if (options_.keeps_marks) founder_.mark_by = now + options_.times.dead_after / 2;
}

/// Once for each job: that it was founded here, or has workers here.
void Succession::keep_mark(Actions& out) {
  if (!options_.keeps_marks || marked_ == job()) return;
  marked_ = job();
  out.emplace_back(KeepMark{marked_});
}

void Succession::hear(Instant now, const FolderOpened& opened, Actions& out) {
  if (founder_.settlement.is_over() && !claims()) {  // too late
    out.emplace_back(FolderTask(CloseFolder{{options_.self.agent}}));
    return;
  }
  founder_.settlement.opened(opened);
  founder_.superseded = std::max(founder_.superseded, opened.founded);
  if (opened.in_use) find_mark(Epoch{1}, options_.folder, out);
  if (founding()) settle(now, out);
}

/// Once there is a record to be decided.
void Succession::settle(Instant now, Actions& out) {
  if (founder_.settlement.is_over() || !reign_->wanted) return;
  const std::vector<Voter> voters = voters_of(*reign_->wanted, Deciding::by_claims);
  switch (founder_.settlement.next(now, voters)) {
    case Settlement::Next::wait:
      return;
    case Settlement::Next::survey:
      ask_survey(out);
      return settle(now, out);
    case Settlement::Next::bar:
      return bar_earlier_job(out);
    case Settlement::Next::claim:
      reign_->claimed = Place{{options_.self.agent}, founder_.settlement.newest_place()};
      break;
    case Settlement::Next::vote:
      if (founder_.settlement.has_opened()) {
        out.emplace_back(FolderTask(CloseFolder{{options_.self.agent}}));
      }
      break;
  }
  propose(now, *std::exchange(reign_->wanted, std::nullopt), out);
}

void Succession::ask_survey(Actions& out) const {
  for (const Voter& voter : founder_.settlement.unanswered()) {
    out.emplace_back(
        SendBallot{voter.address, SurveyRequest{options_.self.address, {options_.self.agent}}});
  }
}

/// Voters of an earlier job may still go on by a claim: this takes the place that they would need.
void Succession::bar_earlier_job(Actions& out) const {
  Knowledge bar{
      *reign_->wanted, Epoch{founder_.superseded.value + 1}, reign_->base, true, std::nullopt};
  bar.record.founding = {bar.accepted, options_.self.agent};
  bar.record.voters = {{options_.self}, options_.self.agent, true};
  bar.place = Place{{options_.self.agent}, founder_.settlement.newest_place() + 1};
  out.emplace_back(FolderTask(ClaimPlace{std::move(bar)}));
}

void Succession::hear(Instant now, const SurveyAnswer& answer, Actions& out) {
  if (!founding() || answer.folder.proof != options_.self.agent) return;
  founder_.settlement.count(answer.voter, answer.sees);
  settle(now, out);
}

}  // namespace ddprun
