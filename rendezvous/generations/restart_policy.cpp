#include "rendezvous/generations/restart_policy.hpp"

#include "rendezvous/result.hpp"
#include "rendezvous/worker_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ddprun {

RestartPolicy::RestartPolicy(RestartOptions options, const Generation& last)
    : options_(options),
      undated_count_(last.failures_count),
      in_row_(last.restarts_in_row),
      newest_(last.snapshot) {}

void RestartPolicy::generation_starts(Instant now) {
  started_ = now;
  visible_ = false;
  failures_.insert(
      failures_.end(), static_cast<std::size_t>(std::exchange(undated_count_, 0)), now);
}

bool RestartPolicy::see(const std::optional<SnapshotPosition>& snapshot) {
  if (!snapshot) return false;
  visible_ = true;
  const bool progress = newest_ && *snapshot > *newest_;
  if (progress) in_row_ = 0;
  newest_ = newest_ ? std::max(*newest_, *snapshot) : *snapshot;
  return progress;
}

RestartPolicy::Answer RestartPolicy::ask(Instant now) const {
  if (failures_count(now) >= options_.count_max) return Answer::spent;
  return visible_ && in_row_ >= stalled_max ? Answer::stalled : Answer::restart;
}

std::optional<Outcome> RestartPolicy::verdict(Instant now, const WorkerFailure& failure) const {
  const std::string blame = describe(failure);
  switch (ask(now)) {
    case Answer::restart:
      break;
    case Answer::spent: {
      const std::string spent = fmt::format(
          ", after {} of {} restarts{}", failures_count(now), options_.count_max, in_window());
      const bool had_any = options_.count_max > 0;
      return Outcome{exit_status_of(failure.end), blame + (had_any ? spent : ""), failure};
    }
    case Answer::stalled:
      return Outcome{
          static_cast<int>(ExitStatus::gave_up),
          fmt::format(
              "gave up: {} restarts without progress; do not requeue: {}", stalled_max, blame),
          failure};
  }
  return std::nullopt;
}

Millis RestartPolicy::restart(Instant now) {
  while (!failures_.empty() && options_.window && now - failures_.front() >= *options_.window) {
    failures_.pop_front();
  }
  failures_.push_back(now);
  if (!visible_ && now - started_ > options_.wait_max) in_row_ = 0;
  const Millis pause = wait();
  ++in_row_;
  return pause;
}

Millis RestartPolicy::wait() const {
  Millis pause = options_.wait_min;
  for (int i = 0; i < in_row_ && pause < options_.wait_max; ++i) {
    pause = std::min(std::max(pause * 2, wait_second), options_.wait_max);
  }
  return pause;
}

int RestartPolicy::failures_count(Instant now) const {
  const auto counts = [&](Instant failure) {
    return !options_.window || now - failure < *options_.window;
  };
  return undated_count_ + static_cast<int>(std::ranges::count_if(failures_, counts));
}

std::string RestartPolicy::in_window() const {
  if (!options_.window) return {};
  return fmt::format(" in {} s", in_seconds(*options_.window));
}

std::string RestartPolicy::which(Instant now) const {
  return name(failures_count(now));
}

std::string RestartPolicy::next(Instant now) const {
  const bool needs_progress = newest_ && in_row_ >= stalled_max;
  return fmt::format("{} follows{}",
                     name(failures_count(now) + 1),
                     needs_progress ? " if a newer snapshot was saved" : "");
}

std::string RestartPolicy::name(int number) const {
  return fmt::format("restart {} of {}{}", number, options_.count_max, in_window());
}

void RestartPolicy::record(Instant now, Generation& next) const {
  next.failures_count = failures_count(now);
  next.restarts_in_row = in_row_;
  next.snapshot = newest_;
}

}  // namespace ddprun
