// What the workers of this node have told of themselves over DDPRUN_CONTROL_FD, in the newest
// generation. Pure.
#pragma once

#include "launcher/workers/control_line.hpp"
#include "rendezvous/generations/generation.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
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
  /// They are asked to save: what one is writing just now began too early to be the answer.
  void asked_to_save();

  /// The step of the first snapshot that is complete and was begun after they were asked; once.
  [[nodiscard]] std::optional<std::int64_t> take_answer();

  /// A step that no rank here has finished before it hears of it, at the speed that was told: half
  /// a second after the newest one. Nothing: no living rank has told steps.
  [[nodiscard]] std::optional<std::int64_t> stop_step() const;

  /// Of those that have said hello.
  [[nodiscard]] const Ranks& ranks() const { return ranks_; }

 private:
  void note_answer(LocalRank local_rank, const ControlMessage& message);

  Rank first_rank_;
  Ranks ranks_;
  std::optional<std::set<LocalRank>> save_in_vain_;  // since asked: what those write is too old
  std::optional<std::int64_t> answer_;
};

/// "step 1,200, 31.4 steps/s" of the living rank that is behind the others, and ", saving" while
/// one saves; empty if none has told anything.
[[nodiscard]] std::string progress_text(const Progress& progress);

}  // namespace ddprun
