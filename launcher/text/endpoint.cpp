#include "launcher/text/endpoint.hpp"

#include "launcher/text/values.hpp"
#include "rendezvous/endpoint_text.hpp"

#include <algorithm>

namespace ddprun {

std::string text_of(const Endpoint& endpoint) {
  return endpoint_text(endpoint.host, endpoint.port);
}

std::optional<Endpoint> parse_endpoint(std::string_view text, std::uint16_t port_unless_given) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return std::nullopt;
    if (!rest.empty()) port = rest.substr(1);
    if (!rest.empty() && port.empty()) return std::nullopt;
  } else if (std::ranges::count(text, ':') == 1) {
    const std::size_t colon = text.find(':');
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return std::nullopt;
  }
  const auto odd = [](unsigned char c) { return c <= ' ' || c == '/' || c == ',' || c == 0x7f; };
  constexpr std::size_t name_max = 255;
  if (host.empty() || host.size() > name_max || std::ranges::any_of(host, odd)) {
    return std::nullopt;
  }
  std::uint16_t number = port_unless_given;
  if (!port.empty()) {
    const auto count = parse_count(port);
    if (!count || *count > 65'535) return std::nullopt;
    number = static_cast<std::uint16_t>(*count);
  }
  return Endpoint{std::string(host), number};
}

}  // namespace ddprun
