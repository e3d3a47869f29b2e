// Whether a job's voters vote or claim. The founder settles it for the whole job, once there is a
// first record: they claim if it can use its folder and all voters of that record see that folder.
//
// States
//   opening    waits for the folder
//   surveying  asks the voters whether they see it
//   barring    they vote, and an earlier job's voters may still claim there: takes the place that
//              they would need
//   over       it is settled
// Bounds
//   The folder has dead-after to be opened and for the bar, voters have half of that. A voter that
//   does not answer by then counts as not seeing it.
#pragma once

#include "rendezvous/generations/voters.hpp"
#include "rendezvous/lease.hpp"
#include "rendezvous/succession/claims.hpp"
#include "rendezvous/succession/survey.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddprun {

class Settlement {
 public:
  /// Without a folder they vote.
  Settlement() = default;
  /// `self`, the founder, opens `folder`, as people know it.
  Settlement(Instant now, AgentId self, std::string folder, LeaseTimes times);

  enum class Next : std::uint8_t {
    wait,    ///< For an answer, or for time.
    survey,  ///< Those who are `unanswered` are to be asked; then `next` again.
    bar,     ///< The place after `newest_place` is to be claimed: see `end_bar`.
    vote,    ///< It is settled so.
    claim,
  };
  /// What comes next for a first record with these voters. Not once it is over.
  [[nodiscard]] Next next(Instant now, const std::vector<Voter>& voters);

  void opened(const FolderOpened& opened) { opened_ = opened; }
  void count(AgentId voter, bool sees);
  /// The record has other voters now.
  void forget_survey() { survey_.reset(); }
  /// The bar's claim was answered. Returns whether it was waited for.
  bool end_bar();
  /// They vote.
  void conclude() { state_ = State::over; }

  [[nodiscard]] bool is_over() const { return state_ == State::over; }
  [[nodiscard]] bool is_barring() const { return state_ == State::barring; }
  /// Whether a founder's proof may lie in the folder.
  [[nodiscard]] bool has_opened() const { return opened_.has_value(); }
  /// 0: none is claimed, as far as is known.
  [[nodiscard]] std::int64_t newest_place() const { return opened_ ? opened_->newest : 0; }
  /// Whom to ask, again perhaps.
  [[nodiscard]] std::vector<Voter> unanswered() const;
  /// For people, where there is a folder and they vote all the same.
  [[nodiscard]] const std::string& why_votes() const { return why_votes_; }

  friend bool operator==(const Settlement&, const Settlement&) = default;

 private:
  enum class State : std::uint8_t { opening, surveying, barring, over };

  [[nodiscard]] Next rule(Instant now);

  State state_ = State::over;
  AgentId self_ = 0;
  std::string folder_;
  LeaseTimes times_;
  Instant until_;  // the folder has time
  std::optional<FolderOpened> opened_;
  std::optional<Survey> survey_;
  std::string why_votes_;
};

}  // namespace ddprun
