// Whether another generation follows one that the failure of a worker has ended, and when.
//
// It is asked only about failures of workers: generations that end otherwise spend no budget
// and wait for nothing.
//
// Budget: a number of failures or, with a window, of failures newer than it, so that one failure
// a week does not end a job of many weeks.
// Progress: a newer snapshot than any before, seen by a node. Three restarts in a row without
// progress end the job, if nodes see snapshots at all.
// Waits: repeated failures should cost the cluster little. The first restart in a row
// waits `wait_min`, each further one twice as long as the one before, a second at least, and
// `wait_max` at most. A row ends with progress or, if no node can see snapshots, when a
// generation has run for longer than `wait_max`.
#pragma once

#include "rendezvous/generations/generation.hpp"
#include "rendezvous/outcome.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace ddprun {

struct RestartOptions {
  int count_max = 0;             ///< Failures that the job survives,
  std::optional<Millis> window;  ///< of those that are newer than this; nothing: of all.
  Millis wait_min{0};            ///< Before the first restart in a row.
  Millis wait_max{0};
  friend bool operator==(const RestartOptions&, const RestartOptions&) = default;
};

class RestartPolicy {
 public:
  static constexpr int stalled_max = 3;        ///< Restarts in a row without progress.
  static constexpr Millis wait_second{1'000};  ///< Before the second restart in a row, at least.

  enum class Answer : std::uint8_t {
    restart,
    spent,    ///< The budget is.
    stalled,  ///< The job makes no progress.
  };

  explicit RestartPolicy(RestartOptions options) : options_(options) {}

  /// Of the job that `last` belongs to: its failures count as if they had just happened, since
  /// their times are unknown.
  RestartPolicy(RestartOptions options, const Generation& last);

  void generation_starts(Instant now);

  /// What a node sees that has joined, nothing if it cannot tell; true if that is progress.
  bool see(const std::optional<SnapshotPosition>& snapshot);

  /// Whether another generation may follow one that has just failed,
  [[nodiscard]] Answer ask(Instant now) const;
  /// and how the job ends if not.
  [[nodiscard]] std::optional<Outcome> verdict(Instant now, const WorkerFailure& failure) const;

  /// Records the restart; returns the delay before it.
  [[nodiscard]] Millis restart(Instant now);

  /// "restart 2 of 3", of the newest one.
  [[nodiscard]] std::string which(Instant now) const;

  /// The same of one that would follow now, and whether it needs progress that nobody has seen yet:
  /// "restart 4 of 9 follows if a newer snapshot was saved".
  [[nodiscard]] std::string next(Instant now) const;

  /// Writes into `next` what a later coordinator must know.
  void record(Instant now, Generation& next) const;

  friend bool operator==(const RestartPolicy&, const RestartPolicy&) = default;

 private:
  [[nodiscard]] int failures_count(Instant now) const;
  [[nodiscard]] std::string in_window() const;
  [[nodiscard]] std::string name(int number) const;
  [[nodiscard]] Millis wait() const;

  RestartOptions options_;
  std::deque<Instant> failures_;  // oldest first; those that are too old go when another comes
  int undated_count_ = 0;         // inherited ones, until the next generation starts
  int in_row_ = 0;                // restarts without progress
  std::optional<SnapshotPosition> newest_;  // that was ever seen
  bool visible_ = false;                    // since the newest generation started
  Instant started_;                         // the newest generation
};

}  // namespace ddprun
