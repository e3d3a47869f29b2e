// The succession as the founder, until there is a first record: it settles whether voters vote or
// claim, for the whole job.
#include "rendezvous/succession/succession.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddprun {

bool Succession::founding() const {
  return state_ == State::leading && leader_->epoch == Epoch{};
}

/// Whether it founds elsewhere than where others look for the job.
bool Succession::calls_endpoint() const {
  return !options_.endpoint.empty() && options_.endpoint != options_.self.address;
}

/// Another job lives, or this one goes on elsewhere: whoever came here is sent on.
void Succession::give_way(Actions& out) {
  state_ = State::following;
  leader_.reset();
  wanted_.reset();
  claimed_.reset();
  out.emplace_back(StepDown{});
  out.emplace_back(Unfollow{});
}

/// What the coordinator has proposed may be of too few nodes; it proposes again.
void Succession::find_mark(Epoch mark, const std::string& where, Actions& out) {
  if (mark == Epoch{} || !founding()) return;
  superseded_ = std::max(superseded_, mark);
  if (claiming_ || std::exchange(mark_found_, true)) return;
  wanted_.reset();
  survey_.reset();
  out.emplace_back(MarkFound{where});
}

/// Nothing starts before the founder's mark is kept, or the disk has had its time.
void Succession::found(Instant now, Actions& out) {
  leader_->epoch = Epoch{superseded_.value + 1};
  leader_->founding = {leader_->epoch, options_.self.agent};
  keep_mark(out);
  if (options_.keeps_marks) mark_by_ = now + options_.times.dead_after / 2;
}

/// Once for each job: that it was founded here, or has workers here.
void Succession::keep_mark(Actions& out) {
  if (!options_.keeps_marks || marked_ == job()) return;
  marked_ = job();
  out.emplace_back(KeepMark{marked_});
}

void Succession::take(Instant now, const FolderOpened& opened, Actions& out) {
  if (settled_ && !claims()) {  // too late
    out.emplace_back(FolderTask(CloseFolder{options_.self.agent}));
    return;
  }
  opened_ = opened;
  superseded_ = std::max(superseded_, opened.founded);
  if (opened.in_use) find_mark(Epoch{1}, options_.folder, out);
  if (founding()) settle(now, out);
}

/// Once there is a record to be decided. Each step may have to wait, for so long and no longer.
void Succession::settle(Instant now, Actions& out) {
  if (settled_ || !wanted_) return;
  if (claiming_ && now < *folder_by_) return;
  if (!claiming_) {
    if (!opened_ && now < *folder_by_) return;
    const bool usable = opened_ && opened_->why.empty();
    if (usable && !survey_is_over(now, out)) return;
    if (!usable) why_votes_ = opened_ ? opened_->why : options_.folder + " does not answer";
    if (why_votes_.empty()) claimed_ = Place{options_.self.agent, opened_->newest};
    if (!why_votes_.empty() && usable && opened_->in_use) return bar_earlier_job(now, out);
  }
  claiming_ = false;
  settled_ = true;
  if (!claims() && opened_) out.emplace_back(FolderTask(CloseFolder{options_.self.agent}));
  propose(now, *std::exchange(wanted_, std::nullopt), out);
}

bool Succession::survey_is_over(Instant now, Actions& out) {
  if (!survey_) {
    const Millis patience = options_.times.dead_after / 2;
    survey_.emplace(voters_of(*wanted_, true), options_.self.agent, now + patience);
    ask_survey(out);
  }
  if (!survey_->is_over(now)) return false;
  if (const std::string why = survey_->why_not(); !why.empty()) {
    why_votes_ = fmt::format("{} {}", why, options_.folder);
  }
  return true;
}

void Succession::ask_survey(Actions& out) {
  for (const Voter& voter : survey_->unanswered()) {
    out.emplace_back(
        SendBallot{voter.address, SurveyRequest{options_.self.address, options_.self.agent}});
  }
}

/// Voters of an earlier job may still go on by a claim: this takes the place that they would need.
void Succession::bar_earlier_job(Instant now, Actions& out) {
  Knowledge bar{*wanted_, Epoch{superseded_.value + 1}, base_, true, std::nullopt};
  bar.record.founding = {bar.accepted, options_.self.agent};
  bar.record.voters = {{options_.self}, options_.self.agent, true};
  bar.place = Place{options_.self.agent, opened_->newest + 1};
  folder_by_ = now + options_.times.dead_after;
  claiming_ = true;
  out.emplace_back(FolderTask(ClaimPlace{std::move(bar)}));
}

void Succession::take(Instant now, const SurveyAnswer& answer, Actions& out) {
  if (!founding() || !survey_ || answer.folder != options_.self.agent) return;
  survey_->count(answer.voter, answer.sees);
  settle(now, out);
}

/// One at a time: whoever asked before has given up.
void Succession::take(Instant, const SurveyRequest& request, Actions& out) {
  if (options_.folder.empty()) {
    out.emplace_back(
        SendBallot{request.address, SurveyAnswer{options_.self.agent, request.folder, false}});
    return;
  }
  survey_from_ = request.address;
  out.emplace_back(FolderTask(LookForProof{request.folder}));
}

void Succession::take(Instant, const ProofSought& sought, Actions& out) {
  out.emplace_back(
      SendBallot{survey_from_, SurveyAnswer{options_.self.agent, sought.folder, sought.seen}});
}

}  // namespace ddprun
