#include "launcher/node/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace ddprun {
namespace {

void apply(const ControlHello&, RankProgress& rank) {
  rank = {rank.rank};  // another program speaks, in the place of the first
}

void apply(const StepsFinished& steps, RankProgress& rank) {
  rank.steps = steps;
}

void apply(const SnapshotBegun& begun, RankProgress& rank) {
  rank.saving = begun.step;
}

void apply(const SnapshotSaved& saved, RankProgress& rank) {
  rank.saving.reset();
  rank.saved = saved.step;
}

/// "31.4 steps/s", with about three digits.
std::string rate_text(double step_ms) {
  const double rate = 1'000 / step_ms;
  return fmt::format("{:.{}f} steps/s", rate, rate < 1 ? 3 : rate < 100 ? 1 : 0);
}

/// Behind the others, or as far as they are and slower.
bool is_behind(const StepsFinished& one, const StepsFinished& other) {
  return std::tuple(one.count, -one.step_ms) < std::tuple(other.count, -other.step_ms);
}

}  // namespace

void Progress::begin(const Part& part) {
  *this = {};
  first_rank_ = part.first_rank;
}

void Progress::hear(LocalRank local_rank, const ControlMessage& message) {
  note_answer(local_rank, message);
  RankProgress& rank = ranks_[local_rank];
  rank.rank = Rank{first_rank_.value + local_rank.value};
  std::visit([&](const auto& what) { apply(what, rank); }, message);
}

void Progress::ended(LocalRank local_rank) {
  const auto found = ranks_.find(local_rank);
  if (found != ranks_.end()) found->second.has_ended = true;
}

void Progress::asked_to_save() {
  answer_.reset();
  save_in_vain_.emplace();
  for (const auto& [local_rank, rank] : ranks_) {
    if (rank.saving) save_in_vain_->insert(local_rank);
  }
}

void Progress::note_answer(LocalRank local_rank, const ControlMessage& message) {
  const auto* saved = std::get_if<SnapshotSaved>(&message);
  if (saved == nullptr || !save_in_vain_ || save_in_vain_->erase(local_rank) > 0) return;
  save_in_vain_.reset();
  answer_ = saved->step;
}

std::optional<std::int64_t> Progress::take_answer() {
  return std::exchange(answer_, std::nullopt);
}

std::optional<std::int64_t> Progress::stop_step() const {
  constexpr double ahead_ms = 500;       // ranks tell their steps a few times a second
  constexpr double steps_max = 100'000;  // "0 ms each" may be told, too
  std::optional<std::int64_t> newest;
  double step_ms = ahead_ms;
  for (const auto& [local_rank, rank] : ranks_) {
    if (rank.has_ended || !rank.steps) continue;
    newest = std::max(newest.value_or(0), rank.steps->count);
    step_ms = std::min(step_ms, rank.steps->step_ms);
  }
  if (!newest) return std::nullopt;
  const double ahead = std::ceil(std::min(ahead_ms / step_ms, steps_max));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return *newest + std::min(static_cast<std::int64_t>(ahead), most - *newest);
}

std::string progress_text(const Progress& progress) {
  std::optional<StepsFinished> slowest;
  bool saves = false;
  for (const auto& [local_rank, rank] : progress.ranks()) {
    if (rank.has_ended) continue;
    saves = saves || rank.saving;
    if (rank.steps && (!slowest || is_behind(*rank.steps, *slowest))) slowest = rank.steps;
  }
  std::string text;
  if (slowest) text = fmt::format("step {}", fmt::group_digits(slowest->count));
  if (slowest && slowest->step_ms > 0) text += ", " + rate_text(slowest->step_ms);
  if (saves) text += text.empty() ? "saving" : ", saving";
  return text;
}

}  // namespace ddprun
