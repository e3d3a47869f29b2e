// Where the nodes of a job meet, and where the workers of one node do. Pure.
#pragma once

#include "launcher/options/rendezvous_options.hpp"
#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

namespace ddprun {

/// From --rdzv-endpoint, --master-addr and --master-port into `options`, of which the numbers of
/// nodes are there already. torchrun's default ports hold.
[[nodiscard]] Result<void> read_endpoints(const Settings& all, RendezvousOptions& options);

}  // namespace ddprun
