// A host and a port as text: "n0:29400", "[fd00::1]:29400". Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ddprun {

struct Endpoint {
  std::string host;  ///< A name or an address, without brackets.
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// "n0:29400", "[fd00::1]:29400".
[[nodiscard]] std::string text_of(const Endpoint& endpoint);

/// "HOST", "HOST:PORT", "[IPV6]", "[IPV6]:PORT" or a bare IPv6 address. Port 0 stands for any that
/// is free. Nothing for anything else.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text,
                                                     std::uint16_t port_unless_given);

}  // namespace ddprun
