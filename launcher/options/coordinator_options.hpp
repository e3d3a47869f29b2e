// The options of the coordinator's state machines, made from the user's. Pure.
#pragma once

#include "launcher/options/options.hpp"
#include "rendezvous/generations/coordinator.hpp"

namespace ddprun {

[[nodiscard]] inline CoordinatorOptions coordinator_options(const Options& options) {
  return {.gathering = options.rendezvous.gathering,
          .join_policy = options.rendezvous.join_policy,
          .restarts = options.restarts,
          .grace = options.stop.grace,
          .saving_signals = options.stop.saving_signals,
          .save_grace = options.stop.save_grace(),
          .restart_grace = options.restart_grace};
}

/// For a coordinator that its voters elect. A first generation of fewer nodes than all waits for
/// long enough that one which leads out of reach would have been heard of, and that the workers of
/// one which is lost have ended.
[[nodiscard]] inline CoordinatorOptions elected_coordinator_options(const Options& options) {
  constexpr Millis margin{1'000};
  CoordinatorOptions elected = coordinator_options(options);
  elected.voters_decide = true;
  elected.voters_claim = !options.claim_dir.empty();
  elected.anchored = options.anchored;
  elected.gathering.quiet =
      options.rendezvous.times.dead_after * 2 + options.restart_grace + margin;
  return elected;
}

}  // namespace ddprun
