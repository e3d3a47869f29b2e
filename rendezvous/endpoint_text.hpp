// The text of an endpoint, a host and a port. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

/// "n0:29400", "10.0.0.1:29400", "[fe80::1]:29400"; `host` is a name or an address.
[[nodiscard]] std::string endpoint_text(const std::string& host, std::uint16_t port);

}  // namespace ddprun
