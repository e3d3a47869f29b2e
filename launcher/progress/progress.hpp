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
#include <vector>

namespace ddprun {

struct RankProgress {
  Rank rank;
  std::optional<StepsFinished> steps = {};
  std::vector<MetricTold> metrics = {};     ///< The newest of each name, first told first.
  std::optional<std::int64_t> saving = {};  ///< The step of a snapshot that is being written.
  std::optional<std::int64_t> saved = {};   ///< The step of the newest one.
  bool has_ended = false;
  Instant told = {};       ///< When `steps` came.
  Instant heard = {};      ///< When it told anything.
  bool is_closed = false;  ///< It tells nothing more, and lives.
  bool is_idle = false;    ///< It finishes no step until it tells anything more.
  friend bool operator==(const RankProgress&, const RankProgress&) = default;
};

/// What has come of the request that workers save.
struct SaveAnswered {
  std::optional<std::int64_t> step;  ///< Of a snapshot begun since; nothing: none can be asked.
  friend bool operator==(const SaveAnswered&, const SaveAnswered&) = default;
};

struct Silence {
  LocalRank local_rank;
  Instant since;
  friend bool operator==(const Silence&, const Silence&) = default;
};

class Progress {
 public:
  using Ranks = std::map<LocalRank, RankProgress>;

  /// The workers of a generation start: they have told nothing yet.
  void begin(const Part& part);
  void hear(Instant now, LocalRank local_rank, const ControlMessage& message);
  void ended(LocalRank local_rank);
  /// It can be asked nothing more.
  void closed(LocalRank local_rank);
  /// All of them and this program were stopped for so long, until now.
  void resumed(Instant now, Millis stopped_for);
  /// Nobody's silence before counts.
  void begin_anew(Instant now);

  /// Of those that have said hello.
  [[nodiscard]] const Ranks& ranks() const { return ranks_; }

  /// The longest one of living workers that are not idle and have not closed their end; of equal
  /// ones, that of the lowest rank.
  [[nodiscard]] std::optional<Silence> longest_silence() const;

  [[nodiscard]] bool is_idle(LocalRank local_rank) const;

  /// These are asked to save: what one is writing just now began too early to be the answer.
  void asked_to_save(std::set<LocalRank> local_ranks);
  /// It was asked, and none has saved since.
  [[nodiscard]] bool awaits_save(LocalRank local_rank) const;
  /// Once for each request: when one has saved, or when all that were asked have ended or closed,
  /// or are idle.
  [[nodiscard]] std::optional<SaveAnswered> take_answer();

  /// A step that no rank here has finished before it hears of it, at the speeds that were told.
  /// Once in a generation, so that all get the same; nothing if no living rank has told steps.
  [[nodiscard]] std::optional<std::int64_t> take_stop_step(Instant now);

 private:
  struct SaveRequest {
    std::set<LocalRank> asked;
    std::set<LocalRank> too_early;  // those that wrote a snapshot when they were asked
  };
  void note_answer(LocalRank local_rank, const ControlMessage& message);
  void cannot_save(LocalRank local_rank);

  Rank first_rank_;
  Ranks ranks_;
  std::optional<SaveRequest> request_;
  std::optional<SaveAnswered> answer_;
  bool has_stop_step_ = false;
};

/// "step 1,200, 31.4 steps/s" of the living rank that is behind the others, ", loss 0.4123" and two
/// metrics more of the first one that has told any, and ", rank 0 saves" while it does; empty if
/// none has told anything.
[[nodiscard]] std::string progress_text(const Progress& progress);

}  // namespace ddprun
