// Why generations end: what the job says of it is held against what has really happened.
//
//   L2  no generation ends without a cause: none where all that went wrong was mild, and otherwise
//       only soon after something went wrong, or because of a node that joined
//   S6  no more generations follow failures of workers than the budget allows
//   S7  the worker that is blamed has failed, and before the others of its generation
#pragma once

#include "rendezvous/generation.hpp"
#include "rendezvous/outcome.hpp"
#include "tests/sim/story.hpp"

#include <string>
#include <vector>

namespace ddprun::sim {

class Causes {
 public:
  explicit Causes(const Story& story);

  /// Something goes wrong until then.
  void disturb(Instant until);
  /// Not as a victim of another one's end.
  void worker_failed(Instant now, GenerationNumber generation, int host);
  /// From now on only that goes wrong.
  void calm() { is_calm_ = true; }

  /// The first member of a generation starts it. Returns the rule that this breaks, or nothing.
  [[nodiscard]] std::string started(Instant now, const Part& part);
  /// A host has been told how the job ends.
  [[nodiscard]] std::string ended(const Outcome& outcome) const;

  /// The job was lost and is founded again.
  void begin_anew();

 private:
  struct Failure {
    Instant at;
    GenerationNumber generation;
    int host = 0;
  };

  [[nodiscard]] std::string blame(const std::string& text) const;
  [[nodiscard]] bool within_budget(Instant now);

  bool mild_ = false;
  int restarts_max_ = 0;
  Millis window_;
  Millis horizon_;   // from a misfortune to the last generation that may come of it
  Millis news_max_;  // two of that distance may arrive in any order
  bool is_calm_ = false;
  Instant disturbed_until_;
  GenerationNumber newest_;
  std::vector<Failure> failures_;
  std::vector<Instant> restarts_;  // after failures of workers
};

}  // namespace ddprun::sim
