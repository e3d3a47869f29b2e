#include "launcher/progress/progress.hpp"

#include "rendezvous/metric_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

void apply(const ControlHello&, RankProgress& rank) {
  rank = {rank.rank};  // another program speaks, in the place of the first
}

void apply(const StepsFinished& steps, RankProgress& rank) {
  rank.steps = steps;
}

void apply(const MetricTold& metric, RankProgress& rank) {
  const auto known = std::ranges::find(rank.metrics, metric.name, &MetricTold::name);
  if (known != rank.metrics.end()) {
    known->value = metric.value;
  } else if (rank.metrics.size() < metrics_max) {
    rank.metrics.push_back(metric);
  }
}

void apply(const SnapshotBegun& begun, RankProgress& rank) {
  rank.saving = begun.step;
}

void apply(const SnapshotSaved& saved, RankProgress& rank) {
  rank.saving.reset();
  rank.saved = saved.step;
}

void apply(const WorkerIdle&, RankProgress& rank) {
  rank.is_idle = true;
}

/// "31.4 steps/s", with about three digits.
std::string rate_text(double step_ms) {
  const double rate = 1'000 / step_ms;
  return fmt::format("{:.{}f} steps/s", rate, rate < 1 ? 3 : rate < 100 ? 1 : 0);
}

/// "loss 0.4123": few, since a row of a terminal is short.
std::vector<std::string> shown_metrics(const std::vector<MetricTold>& metrics) {
  constexpr std::size_t shown_max = 3;
  std::vector<std::string> shown;
  for (const MetricTold& metric : metrics) {
    if (shown.size() == shown_max) break;
    shown.push_back(fmt::format("{} {:.4g}", metric.name, metric.value));
  }
  return shown;
}

/// A quarter of a second from now, and one more, if it goes on as it was told so long ago.
std::int64_t step_after(const StepsFinished& steps, Millis ago) {
  constexpr double ahead_ms = 250;
  constexpr double steps_max = 1'000'000;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const double time_ms = ahead_ms + static_cast<double>(ago.count);
  const double count = steps.step_ms > 0 ? std::ceil(time_ms / steps.step_ms) : 1;
  const auto ahead = static_cast<std::int64_t>(std::min(count, steps_max)) + 1;
  return steps.count + std::min(ahead, most - steps.count);
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

void Progress::hear(Instant now, LocalRank local_rank, const ControlMessage& message) {
  note_answer(local_rank, message);
  RankProgress& rank = ranks_[local_rank];
  rank.rank = Rank{first_rank_.value + local_rank.value};
  rank.is_idle = false;
  std::visit([&](const auto& what) { apply(what, rank); }, message);
  if (rank.is_idle) cannot_save(local_rank);
  if (std::holds_alternative<StepsFinished>(message)) rank.told = now;
  rank.heard = now;
}

void Progress::ended(LocalRank local_rank) {
  const auto found = ranks_.find(local_rank);
  if (found != ranks_.end()) found->second.has_ended = true;
  closed(local_rank);
}

void Progress::closed(LocalRank local_rank) {
  const auto found = ranks_.find(local_rank);
  if (found != ranks_.end()) found->second.is_closed = true;
  cannot_save(local_rank);
}

bool Progress::is_idle(LocalRank local_rank) const {
  const auto found = ranks_.find(local_rank);
  return found != ranks_.end() && found->second.is_idle;
}

void Progress::cannot_save(LocalRank local_rank) {
  if (!request_ || request_->asked.erase(local_rank) == 0 || !request_->asked.empty()) return;
  request_.reset();
  answer_.emplace();
}

void Progress::resumed(Instant now, Millis stopped_for) {
  for (auto& [local_rank, rank] : ranks_) {
    rank.told = std::min(rank.told + stopped_for, now);
    rank.heard = std::min(rank.heard + stopped_for, now);
  }
}

void Progress::begin_anew(Instant now) {
  for (auto& [local_rank, rank] : ranks_) rank.heard = now;
}

std::optional<Silence> Progress::longest_silence() const {
  std::optional<Silence> longest;
  for (const auto& [local_rank, rank] : ranks_) {
    if (rank.has_ended || rank.is_closed || rank.is_idle) continue;
    if (!longest || rank.heard < longest->since) longest = Silence{local_rank, rank.heard};
  }
  return longest;
}

void Progress::asked_to_save(std::set<LocalRank> local_ranks) {
  answer_.reset();
  request_.emplace().asked = std::move(local_ranks);
  for (const auto& [local_rank, rank] : ranks_) {
    if (rank.saving) request_->too_early.insert(local_rank);
  }
}

bool Progress::awaits_save(LocalRank local_rank) const {
  return request_ && request_->asked.contains(local_rank);
}

/// Who begins to save, or begins anew, has done with what it wrote before.
void Progress::note_answer(LocalRank local_rank, const ControlMessage& message) {
  if (!request_ || std::holds_alternative<StepsFinished>(message) ||
      std::holds_alternative<MetricTold>(message)) {
    return;
  }
  const bool was_too_early = request_->too_early.erase(local_rank) > 0;
  const auto* saved = std::get_if<SnapshotSaved>(&message);
  if (saved == nullptr || was_too_early) return;
  request_.reset();
  answer_ = SaveAnswered{saved->step};
}

std::optional<SaveAnswered> Progress::take_answer() {
  return std::exchange(answer_, std::nullopt);
}

std::optional<std::int64_t> Progress::take_stop_step(Instant now) {
  if (has_stop_step_) return std::nullopt;
  std::optional<std::int64_t> last;
  for (const auto& [local_rank, rank] : ranks_) {
    if (!rank.has_ended && rank.steps) {
      last = std::max(last.value_or(0), step_after(*rank.steps, now - rank.told));
    }
  }
  has_stop_step_ = last.has_value();
  return last;
}

std::string progress_text(const Progress& progress) {
  std::optional<StepsFinished> slowest;
  std::vector<std::string> metrics;
  std::vector<Rank> saving;
  for (const auto& [local_rank, rank] : progress.ranks()) {
    if (rank.has_ended) continue;
    if (metrics.empty()) metrics = shown_metrics(rank.metrics);
    if (rank.saving) saving.push_back(rank.rank);
    if (rank.steps && (!slowest || is_behind(*rank.steps, *slowest))) slowest = rank.steps;
  }
  std::vector<std::string> parts;
  if (slowest) parts.push_back(fmt::format("step {}", fmt::group_digits(slowest->count)));
  if (slowest && slowest->step_ms > 0) parts.push_back(rate_text(slowest->step_ms));
  parts.insert(parts.end(), metrics.begin(), metrics.end());
  if (saving.size() == 1) parts.push_back(fmt::format("rank {} saves", saving.front().value));
  if (saving.size() > 1) parts.push_back(fmt::format("{} ranks save", saving.size()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace ddprun
