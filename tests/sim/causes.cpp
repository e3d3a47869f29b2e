#include "tests/sim/causes.hpp"

#include "rendezvous/lease.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddprun::sim {
namespace {

constexpr Instant all_have_joined{45'000};

}  // namespace

Causes::Causes(const Story& story)
    : mild_(story.mild),
      restarts_max_(story.restarts_max),
      window_(story.restart_window),
      horizon_(story.dead_after * 4 + story.restart_wait_max + Millis{10'000}),
      news_max_(story.delay_max * 2 + Millis{10}) {
  if (story.clog_percent > 0) disturb(story.calm_from());
}

void Causes::disturb(Instant until) {
  disturbed_until_ = std::max(disturbed_until_, until);
}

void Causes::worker_failed(Instant now, GenerationNumber generation, int host) {
  failures_.push_back({now, generation, host});
  disturb(now);
}

void Causes::begin_anew() {
  newest_ = {};
  failures_.clear();
  restarts_.clear();
}

std::string Causes::started(Instant now, const Part& part) {
  const bool first = newest_ == GenerationNumber{};
  const bool joined = part.cause.ends_with(" joined");
  if (!first && !joined) {
    if (mild_ && !is_calm_ && now > all_have_joined) return "L2: a generation ended for nothing";
    if (now > disturbed_until_ + horizon_) return "L2: a generation ended without a cause";
  }
  std::string broken;
  if (part.cause.starts_with("restart ")) {
    broken = blame(part.cause);
    restarts_.push_back(now);
    if (broken.empty() && !within_budget(now)) broken = "S6: too many restarts";
  }
  newest_ = part.number;
  return broken;
}

/// The generations that follow failures in one window are one more than these at most: the oldest
/// of them may follow a failure before it.
bool Causes::within_budget(Instant now) {
  const bool all = window_ == Millis{};
  const auto counts = [&](Instant start) { return all || now - start < window_; };
  return std::ranges::count_if(restarts_, counts) <= restarts_max_ + (all ? 0 : 1);
}

std::string Causes::ended(const Outcome& outcome) const {
  return outcome.failure ? blame(outcome.text) : std::string();
}

/// "rank 3 (pid 4 on n1) ..." and "rank 3 on n1 ..." say who was the first to fail.
std::string Causes::blame(const std::string& text) const {
  const auto names = [&](int host) {
    return text.find(fmt::format(" on n{})", host)) != std::string::npos ||
           text.find(fmt::format(" on n{} ", host)) != std::string::npos;
  };
  std::optional<Instant> first;
  std::optional<Instant> blamed;
  for (const Failure& failure : failures_) {
    if (failure.generation != newest_) continue;
    if (!first) first = failure.at;
    if (!blamed && names(failure.host)) blamed = failure.at;
  }
  if (!blamed) return "S7: who is blamed has not failed: " + text;
  if (is_calm_ && *blamed - *first > news_max_) return "S7: another failed before: " + text;
  return {};
}

}  // namespace ddprun::sim
