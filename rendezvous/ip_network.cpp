#include "rendezvous/ip_network.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace ddprun {
namespace {

constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr int mapped_bits = 96;

bool is_mapped(const IpAddress& address) {
  return std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.bytes.begin());
}

bool is_in(const IpAddress& address, const char* network) {
  return parse_ip_network(network)->contains(address);
}

}  // namespace

bool IpNetwork::contains(const IpAddress& other) const {
  const auto whole = static_cast<std::size_t>(prefix_bits / 8);
  if (!std::equal(address.bytes.begin(), address.bytes.begin() + whole, other.bytes.begin())) {
    return false;
  }
  const int rest = 8 - prefix_bits % 8;  // bits that may differ
  return rest == 8 || address.bytes[whole] >> rest == other.bytes[whole] >> rest;
}

std::optional<IpAddress> parse_ip_address(const std::string& text) {
  IpAddress address;
  std::copy(mapped_prefix.begin(), mapped_prefix.end(), address.bytes.begin());
  if (::inet_pton(AF_INET, text.c_str(), address.bytes.data() + mapped_prefix.size()) == 1) {
    return address;
  }
  const std::string without_interface = text.substr(0, text.find('%'));
  if (::inet_pton(AF_INET6, without_interface.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

std::optional<IpNetwork> parse_ip_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_ip_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == std::string::npos) return IpNetwork{*address};
  const std::string_view number = std::string_view(text).substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bits);
  const unsigned offset = text.find(':') == std::string::npos ? mapped_bits : 0;
  if (error != std::errc{} || end != number.data() + number.size() || bits > 128 - offset) {
    return std::nullopt;
  }
  return IpNetwork{*address, static_cast<int>(bits + offset)};
}

std::string text_of(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool mapped = is_mapped(address);
  const auto* from = address.bytes.data() + (mapped ? mapped_prefix.size() : 0);
  ::inet_ntop(mapped ? AF_INET : AF_INET6, from, text.data(), text.size());
  return text.data();
}

bool is_loopback(const IpAddress& address) {
  return is_in(address, "127.0.0.0/8") || is_in(address, "::1");
}

bool is_link_local(const IpAddress& address) {
  return is_in(address, "fe80::/10");
}

bool is_loopback(const std::string& text) {
  const auto address = parse_ip_address(text);
  return address && is_loopback(*address);
}

bool is_link_local(const std::string& text) {
  const auto address = parse_ip_address(text);
  return address && is_link_local(*address);
}

}  // namespace ddprun
