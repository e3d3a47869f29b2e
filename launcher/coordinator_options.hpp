// What the options mean for the coordinator's machines. Pure.
#pragma once

#include "launcher/options.hpp"
#include "rendezvous/coordinator.hpp"
#include "rendezvous/roster.hpp"

#include <cstdint>

namespace ddprun {

[[nodiscard]] inline CoordinatorOptions coordinator_options(const Options& options) {
  GatheringOptions gathering = options.rendezvous.gathering;
  if (options.rendezvous.has_many_nodes()) gathering.quiet = options.rendezvous.times.dead_after;
  return {.gathering = gathering,
          .join_policy = options.rendezvous.join_policy,
          .restarts_max = options.restarts_max,
          .grace = options.grace,
          .restart_grace = options.restart_grace};
}

/// `id` is drawn at random.
[[nodiscard]] inline RosterOptions roster_options(const Options& options, std::uint64_t id) {
  return {.id = id,
          .times = options.rendezvous.times,
          .nodes_min = options.rendezvous.gathering.nodes_min,
          .nodes_max = options.rendezvous.gathering.nodes_max};
}

}  // namespace ddprun
