// Which worker hangs: it lives, has said hello over DDPRUN_CONTROL_FD, and has told nothing for
// --hang-timeout. Pure.
//
// In a collective call all ranks wait for the one that does not come, so all fall silent within a
// step; it cannot be told which of them is the cause.
#pragma once

#include "launcher/progress/progress.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <optional>

namespace ddprun {

struct WorkerHung {
  LocalRank local_rank;
  int pid = 0;  ///< HangWatch does not know it.
  Millis silent{0};
  std::optional<std::int64_t> step = {};  ///< The last one that it has told.
  friend bool operator==(const WorkerHung&, const WorkerHung&) = default;
};

/// Why workers may be silent and well, as this node finds it when it looks.
struct SilenceExcuse {
  bool terminal_worker = false;  ///< One of them has the terminal: a person may be thinking.
  bool output_blocked = false;   ///< Nobody reads what they print: they wait until somebody does.
};

class HangWatch {
 public:
  /// Without a time no worker ever hangs.
  explicit HangWatch(std::optional<Millis> timeout) : timeout_(timeout) {}

  /// The workers of a generation start; all of them have ended.
  void begin(Instant now) { begun_ = now; }
  void end() { begun_.reset(); }
  /// Workers and this program were stopped for so long.
  void resumed(Millis stopped_for) {
    if (begun_) begun_ = *begun_ + stopped_for;
  }

  /// When to look, if no worker tells anything before.
  [[nodiscard]] std::optional<Instant> next_deadline(const Progress& progress) const;

  /// The worker that hangs, if one does, each at most once: it counts as closed then. With an
  /// excuse none does, and all have their time anew. So it is when a look comes more than a second
  /// late: this program was stopped, perhaps with its workers. A stop that ends before is not seen.
  [[nodiscard]] std::optional<WorkerHung> look(Instant now,
                                               SilenceExcuse excuse,
                                               Progress& progress) const;

  /// Whether no worker has said hello for as long since they started. True once in a job; an
  /// excuse or a late look counts as in `look`.
  [[nodiscard]] bool watches_nobody(Instant now, SilenceExcuse excuse, const Progress& progress);

 private:
  [[nodiscard]] std::optional<Instant> next_look(const Progress& progress) const;
  [[nodiscard]] std::optional<Instant> hello_due(const Progress& progress) const;

  std::optional<Millis> timeout_;
  std::optional<Instant> begun_;  // while workers live
  bool has_told_ = false;         // that it watches nobody
};

}  // namespace ddprun
