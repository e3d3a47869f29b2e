// What this process has seen in the claim folder, and what it has under way there.
//
// Invariants
//   Where a claim may have been linked without an answer, that counts until a look into the folder
//   or an answered claim shows what is there.
// Bounds
//   One look and one claim at a time.
#pragma once

#include "rendezvous/units.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ddprun {

/// What a leader that claims has done in vain, before it lets others try.
enum class Vain : std::uint8_t { gathering, claiming };

class FolderUse {
 public:
  /// Another look would be due at `again`. Returns whether to look now; no: one is under way.
  [[nodiscard]] bool begin_look(Instant again);
  void end_look() { looks_ = false; }
  /// The newest claim that is there.
  void saw(std::int64_t place);
  /// Of a claim that is newer, perhaps.
  void heard_of(std::int64_t place);

  /// Returns whether to claim now; no: a claim is under way.
  [[nodiscard]] bool begin_claim();
  /// `may_be_linked`: although it may not have been answered as done.
  void end_claim(bool may_be_linked);
  /// The last claim was the newest.
  void claimed();
  /// It was not reached, so nothing is claimed before `again`. Returns for how long that goes on.
  [[nodiscard]] Millis failed(Instant now, Instant again);

  /// Its claim of `place` is tried no more for now: it may be linked all the same.
  void give_up_claim(std::int64_t place);
  /// Others may try now.
  void pass(Vain after) { ++passes_[static_cast<std::size_t>(after)]; }
  /// Another claim is known.
  void forget_passes() { passes_ = {}; }
  /// The job is another one.
  void forget_claims();

  [[nodiscard]] bool look_is_due(Instant now) const { return now >= look_at_; }
  [[nodiscard]] bool may_claim(Instant now) const { return now >= claim_after_; }
  [[nodiscard]] bool is_claiming() const { return claims_; }
  /// The place after the newest, by this process.
  [[nodiscard]] bool may_be_linked() const { return may_be_linked_; }
  /// The newest place that this process has seen to be claimed; 0: none.
  [[nodiscard]] std::int64_t newest() const { return newest_; }
  /// How often others were let try since the newest claim.
  [[nodiscard]] int passes(Vain after) const { return passes_[static_cast<std::size_t>(after)]; }

  friend bool operator==(const FolderUse&, const FolderUse&) = default;

 private:
  std::int64_t newest_ = 0;
  bool may_be_linked_ = false;
  bool looks_ = false;
  bool claims_ = false;
  std::array<int, 2> passes_{};
  Instant look_at_;
  Instant claim_after_;
  std::optional<Instant> fails_since_;
};

}  // namespace ddprun
