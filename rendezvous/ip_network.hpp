// Internet addresses and networks as values that can be compared, sent and looked up.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace ddprun {

/// An IPv4 address a.b.c.d is ::ffff:a.b.c.d, as which a socket for both kinds shows it.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const IpAddress&) const = default;
};

struct IpEndpoint {
  IpAddress address;
  std::uint16_t port = 0;
  friend bool operator==(const IpEndpoint&, const IpEndpoint&) = default;
};

/// A TCP connection, as the process at `local` sees it.
struct IpConnection {
  IpEndpoint local;
  IpEndpoint peer;
  friend bool operator==(const IpConnection&, const IpConnection&) = default;
};

/// All addresses whose first bits are those of `address`.
struct IpNetwork {
  IpAddress address;
  int prefix_bits = 128;  ///< Of the 128: 96 more than people write for IPv4.
  friend bool operator==(const IpNetwork&, const IpNetwork&) = default;

  [[nodiscard]] bool contains(const IpAddress& other) const;
};

/// "10.0.0.1", "fd00::1"; of "fe80::1%eth0" what stands before the interface. Nothing if it is no
/// address.
[[nodiscard]] std::optional<IpAddress> parse_ip_address(const std::string& text);

/// "10.1.0.0/16", "fd00::/8", or one address. Nothing if it is no network.
[[nodiscard]] std::optional<IpNetwork> parse_ip_network(const std::string& text);

[[nodiscard]] std::string text_of(const IpAddress& address);

/// Whether it leads to the host itself, whichever that is; of IPv6, to one on the same link only.
[[nodiscard]] bool is_loopback(const IpAddress& address);
[[nodiscard]] bool is_link_local(const IpAddress& address);

/// The same of an address as people write it; false for any other text.
[[nodiscard]] bool is_loopback(const std::string& text);
[[nodiscard]] bool is_link_local(const std::string& text);

}  // namespace ddprun
