// Where `ddprun store` listens.
#pragma once

#include "launcher/meeting/interfaces.hpp"
#include "launcher/options/store_options.hpp"
#include "rendezvous/result.hpp"

#include <string>
#include <vector>

namespace ddprun {

/// The address for --bind, or in its absence for the clients that --allow says. Of an interface the
/// first address that is not link-local. Link-local addresses name their interface, and need
/// --allow: the kernel does not tell whose the sockets behind them are.
[[nodiscard]] Result<std::string> address_to_bind(const StoreCommandOptions& options,
                                                  const std::vector<Interface>& interfaces);

}  // namespace ddprun
