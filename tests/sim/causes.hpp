// Why generations end: what the job says of it is held against what has really happened.
//
//   L2  no generation ends without a cause: none where all that went wrong was mild, and otherwise
//       only soon after something went wrong, or because of a node that joined
//   S6  as many generations follow failures of workers as the budget allows, or fewer for want of
//       progress; none at once after a second failure in a row. What fails because a host was lost
//       spends nothing
//   S7  the worker that is blamed has failed, and before the others of its generation where
//       nothing held up the news of that
//   S16 where workers save before a node joins, no generation ends for one before any of them was
//       asked to, unless that took too long
#pragma once

#include "rendezvous/generations/generation.hpp"
#include "rendezvous/outcome.hpp"
#include "tests/sim/story.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ddprun::sim {

class Causes {
 public:
  explicit Causes(const Story& story);

  /// Something goes wrong until then.
  void disturb(Instant until);
  enum class Why : std::uint8_t { itself, host_lost };
  /// Not as a victim of another worker's end.
  void worker_failed(Instant now, GenerationNumber generation, int host, Why why);
  /// An agent sees a snapshot in time.
  void snapshot_seen() { seen_ = true; }
  /// Workers are asked to save, since their generation is to end.
  void asked_to_save() { saves_ = true; }
  /// From now on only that goes wrong.
  void calm(Instant now) { calm_since_ = now; }

  /// The first member of a generation starts it. Returns the rule that this breaks, or nothing.
  [[nodiscard]] std::string started(Instant now, const Part& part);
  /// A host has been told how the job ends.
  [[nodiscard]] std::string ended(const Outcome& outcome) const;

  /// Whether the workers have failed too often for one more restart.
  [[nodiscard]] bool is_spent() const;

  /// The job was lost and is founded again.
  void begin_anew();

 private:
  struct Failure {
    Instant at;
    GenerationNumber generation;
    int host = 0;
    Why why = Why::itself;
  };

  [[nodiscard]] std::string blame(const std::string& text) const;
  [[nodiscard]] bool within_budget(Instant now);
  [[nodiscard]] bool has_waited(Instant now) const;
  [[nodiscard]] bool may_make_progress() const;
  [[nodiscard]] bool has_saved(Instant now) const;
  [[nodiscard]] std::string restarted(Instant now, const std::string& cause);

  bool mild_ = false;
  int restarts_max_ = 0;
  Millis window_;
  Millis wait_max_;  // before a restart
  Snapshots snapshots_;
  std::optional<Millis> save_patience_;  // where workers save before a node joins
  bool orderly_ = false;                 // nothing but workers fails
  Millis horizon_;   // from a misfortune to the last generation that may come of it
  Millis news_max_;  // two of that distance may arrive in any order
  std::optional<Instant> calm_since_;
  Instant disturbed_until_;
  GenerationNumber newest_;
  Instant newest_from_;
  bool newest_restarted_ = false;  // after a failure
  bool seen_ = false;              // a snapshot, since then
  bool saves_ = false;             // or would have, if it could
  int unseen_count_ = 0;           // restarts of which nobody saw one
  std::vector<Failure> failures_;
  std::vector<Instant> restarts_;  // after failures of workers
};

}  // namespace ddprun::sim
