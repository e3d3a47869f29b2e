// What the workers of this node have told of themselves over DDPRUN_CONTROL_FD, in the newest
// generation. Pure.
#pragma once

#include "launcher/workers/control_line.hpp"
#include "rendezvous/generations/generation.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace ddprun {

struct RankProgress {
  Rank rank;
  std::optional<StepsFinished> steps = {};
  std::optional<std::int64_t> saving = {};  ///< The step of a snapshot that is being written.
  std::optional<std::int64_t> saved = {};   ///< The step of the newest one.
  bool has_ended = false;
  friend bool operator==(const RankProgress&, const RankProgress&) = default;
};

class Progress {
 public:
  using Ranks = std::map<LocalRank, RankProgress>;

  /// The workers of a generation start: they have told nothing yet.
  void begin(const Part& part);
  void hear(LocalRank local_rank, const ControlMessage& message);
  void ended(LocalRank local_rank);

  /// Of those that have said hello.
  [[nodiscard]] const Ranks& ranks() const { return ranks_; }

 private:
  Rank first_rank_;
  Ranks ranks_;
};

/// "step 1,200, 31.4 steps/s" of the living rank that is behind the others, and ", saving" while
/// one saves; empty if none has told anything.
[[nodiscard]] std::string progress_text(const Progress& progress);

}  // namespace ddprun
