#include "rendezvous/endpoint_text.hpp"

#include <fmt/format.h>

namespace ddprun {

std::string endpoint_text(const std::string& host, std::uint16_t port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace ddprun
