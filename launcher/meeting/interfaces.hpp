// The network as this node sees it: its own addresses, and those behind a name.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// One address of one network interface that is up.
struct Interface {
  std::string name;     ///< "eth0".
  std::string address;  ///< "10.0.0.1", "fd00::1"; of link-local ones "fe80::1%eth0".
  friend bool operator==(const Interface&, const Interface&) = default;
};

/// In the system's order.
[[nodiscard]] std::vector<Interface> network_interfaces();

/// The addresses of a name, or of an address itself; empty if nobody knows it. Waits for the
/// system's resolver.
[[nodiscard]] std::vector<std::string> addresses_of(const std::string& host);

/// This node's own address on the way to the first of `addresses` to which there is one; empty if
/// there is none. Nothing is sent.
[[nodiscard]] std::string address_towards(const std::vector<std::string>& addresses);

}  // namespace ddprun
