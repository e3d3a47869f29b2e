#include "tests/sim/causes.hpp"

#include "rendezvous/generations/restart_policy.hpp"
#include "rendezvous/lease.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ddprun::sim {
namespace {

constexpr Instant all_have_joined{45'000};

bool is_of_worker(FaultKind kind) {
  return kind == FaultKind::worker_fails || kind == FaultKind::spawn_fails;
}

}  // namespace

Causes::Causes(const Story& story)
    : mild_(story.mild),
      restarts_max_(story.restarts_max),
      window_(story.restart_window),
      wait_max_(story.restart_wait_max),
      snapshots_(story.snapshots),
      save_patience_(story.join_policy == JoinPolicy::snapshot ? std::optional(story.save_patience)
                                                               : std::nullopt),
      orderly_(story.clog_percent == 0 &&
               std::ranges::all_of(story.faults, is_of_worker, &Fault::kind)),
      horizon_(story.dead_after * 4 + story.restart_wait_max + Millis{10'000}),
      news_max_(story.delay_max + Millis{10}) {
  if (story.clog_percent > 0 || story.lose_percent > 0) disturb(story.calm_from());
}

void Causes::disturb(Instant until) {
  disturbed_until_ = std::max(disturbed_until_, until);
}

void Causes::worker_failed(Instant now, GenerationNumber generation, int host, Why why) {
  failures_.push_back({now, generation, host, why});
  disturb(now);
}

void Causes::begin_anew() {
  newest_ = {};
  newest_restarted_ = false;
  unseen_count_ = 0;
  failures_.clear();
  restarts_.clear();
}

std::string Causes::started(Instant now, const Part& part) {
  const bool first = newest_ == GenerationNumber{};
  const bool joined = part.cause.ends_with(" joined");
  if (!first && !joined) {
    if (mild_ && !calm_since_ && now > all_have_joined) return "L2: a generation ended for nothing";
    if (now > disturbed_until_ + horizon_) return "L2: a generation ended without a cause";
  }
  if (!first && joined && !has_saved(now)) return "S16: nobody was asked to save for who joined";
  std::string broken;
  const bool restarts = part.cause.starts_with("restart ");
  if (restarts) broken = restarted(now, part.cause);
  newest_ = part.number;
  newest_from_ = now;
  newest_restarted_ = restarts;
  seen_ = saves_ = false;
  return broken;
}

std::string Causes::restarted(Instant now, const std::string& cause) {
  restarts_.push_back(now);
  if (!seen_) ++unseen_count_;
  std::string broken = blame(cause);
  if (!broken.empty()) return broken;
  if (!within_budget(now)) return "S6: too many restarts";
  if (!has_waited(now)) return "S6: a second restart in a row did not wait";
  if (!may_make_progress()) return "S6: what makes no progress is tried again and again";
  return {};
}

/// Unless the last generation ran for so long that it begins a row, or may have been seen to make
/// progress. When the coordinator started it is known only where nothing is held up.
bool Causes::has_waited(Instant now) const {
  const auto failed = std::ranges::find(failures_, newest_, &Failure::generation);
  if (failed == failures_.end()) return true;
  const bool in_row = orderly_ && newest_restarted_ && snapshots_ == Snapshots::unseen &&
                      failed->at - newest_from_ + news_max_ * 2 < wait_max_;
  return !in_row || now - failed->at + Millis{2} >= std::min(RestartPolicy::wait_second, wait_max_);
}

/// Or who leads has waited long enough for that, by its own clock.
bool Causes::has_saved(Instant now) const {
  if (!save_patience_ || saves_) return true;
  return now - newest_from_ + news_max_ >= *save_patience_ - *save_patience_ / 1'000;
}

/// Where nobody sees a snapshot the row may begin anew.
bool Causes::may_make_progress() const {
  const int rows = 1 + unseen_count_;
  return snapshots_ != Snapshots::stalled ||
         std::ssize(restarts_) <= rows * RestartPolicy::stalled_max + unseen_count_;
}

/// The generations that follow failures in one window are one more than these at most: the oldest
/// of them may follow a failure before it.
bool Causes::within_budget(Instant now) {
  const bool all = window_ == Millis{};
  const auto counts = [&](Instant start) { return all || now - start < window_; };
  return std::ranges::count_if(restarts_, counts) <= restarts_max_ + (all ? 0 : 1);
}

std::string Causes::ended(const Outcome& outcome) const {
  if (!outcome.failure) return {};
  const bool stalls = outcome.exit_status == static_cast<int>(ExitStatus::gave_up);
  if (!stalls && !is_spent()) return "S6: the budget is not spent: " + outcome.text;
  return blame(outcome.text);
}

bool Causes::is_spent() const {
  std::set<GenerationNumber> failed;
  for (const Failure& failure : failures_) {
    if (failure.why == Why::itself) failed.insert(failure.generation);
  }
  return std::ssize(failed) > restarts_max_;
}

/// "rank 3 (pid 4 on n1) ..." and "rank 3 on n1 ..." say who was the first to fail. The
/// coordinator knows only whose news came first. They come in order if all was calm when the first
/// one failed; that the restart begins in calm, after a long wait perhaps, does not tell.
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
  const bool in_order = orderly_ || (calm_since_ && *first >= *calm_since_);
  if (in_order && *blamed - *first > news_max_) return "S7: another failed before: " + text;
  return {};
}

}  // namespace ddprun::sim
