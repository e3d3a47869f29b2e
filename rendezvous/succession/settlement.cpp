#include "rendezvous/succession/settlement.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddprun {

Settlement::Settlement(Instant now, AgentId self, std::string folder, LeaseTimes times)
    : state_(State::opening),
      self_(self),
      folder_(std::move(folder)),
      times_(times),
      until_(now + times.dead_after) {}

Settlement::Next Settlement::next(Instant now, const std::vector<Voter>& voters) {
  if (state_ == State::barring) {
    if (now < until_) return Next::wait;
    conclude();
    return Next::vote;
  }
  if (!opened_) {
    if (now < until_) return Next::wait;
    why_votes_ = folder_ + " does not answer";
    return rule(now);
  }
  if (!opened_->why.empty()) {
    why_votes_ = opened_->why;
    return rule(now);
  }
  if (!survey_) {
    state_ = State::surveying;
    survey_.emplace(voters, self_, now + times_.dead_after / 2);
    return Next::survey;
  }
  if (!survey_->is_over(now)) return Next::wait;
  if (const std::string why = survey_->why_not(); !why.empty()) {
    why_votes_ = fmt::format("{} {}", why, folder_);
  }
  return rule(now);
}

Settlement::Next Settlement::rule(Instant now) {
  const bool votes = !why_votes_.empty();
  const bool may_be_claimed = opened_ && opened_->why.empty() && opened_->in_use;
  if (votes && may_be_claimed) {
    state_ = State::barring;
    until_ = now + times_.dead_after;
    return Next::bar;
  }
  conclude();
  return votes ? Next::vote : Next::claim;
}

void Settlement::count(AgentId voter, bool sees) {
  if (survey_) survey_->count(voter, sees);
}

bool Settlement::end_bar() {
  if (state_ != State::barring) return false;
  state_ = State::surveying;
  return true;
}

std::vector<Voter> Settlement::unanswered() const {
  return survey_ ? survey_->unanswered() : std::vector<Voter>();
}

}  // namespace ddprun
