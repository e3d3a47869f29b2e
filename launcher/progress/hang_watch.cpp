#include "launcher/progress/hang_watch.hpp"

namespace ddprun {
namespace {

/// A look later than this means that this process was stopped.
constexpr Millis late{1'000};

bool is_excused(Instant now, Instant deadline, SilenceExcuse excuse) {
  return excuse.terminal_worker || excuse.output_blocked || now - deadline > late;
}

}  // namespace

std::optional<Instant> HangWatch::next_deadline(const Progress& progress) const {
  const auto look = next_look(progress);
  return look ? look : hello_due(progress);
}

std::optional<Instant> HangWatch::hello_due(const Progress& progress) const {
  if (!timeout_ || !begun_ || has_told_ || !progress.ranks().empty()) return std::nullopt;
  return *begun_ + *timeout_;
}

bool HangWatch::watches_nobody(Instant now, SilenceExcuse excuse, const Progress& progress) {
  const auto due = hello_due(progress);
  if (!due || now < *due) return false;
  if (is_excused(now, *due, excuse)) {
    begun_ = now;
    return false;
  }
  has_told_ = true;
  return true;
}

std::optional<Instant> HangWatch::next_look(const Progress& progress) const {
  const auto silence = progress.longest_silence();
  if (!timeout_ || !silence) return std::nullopt;
  return silence->since + *timeout_;
}

std::optional<WorkerHung> HangWatch::look(Instant now,
                                          SilenceExcuse excuse,
                                          Progress& progress) const {
  const auto deadline = next_look(progress);
  if (!deadline || now < *deadline) return std::nullopt;
  if (is_excused(now, *deadline, excuse)) {
    progress.begin_anew(now);
    return std::nullopt;
  }
  const auto [local_rank, since] = *progress.longest_silence();
  WorkerHung hung{.local_rank = local_rank, .silent = now - since};
  const auto& steps = progress.ranks().at(local_rank).steps;
  if (steps) hung.step = steps->count;
  progress.closed(local_rank);
  return hung;
}

}  // namespace ddprun
