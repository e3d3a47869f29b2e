// The address of this machine at which other ranks reach it, from the routing table's route to the
// store. Resolving this host's own name would be wrong: many machines resolve it to 127.0.1.1.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun::worker {

/// The numeric local address from which packets to `host`:`port` leave. Sends nothing. Throws Error
/// when `host` cannot be resolved or has no route. May block in the resolver.
[[nodiscard]] std::string local_address_towards(const std::string& host, std::uint16_t port);

}  // namespace ddprun::worker
