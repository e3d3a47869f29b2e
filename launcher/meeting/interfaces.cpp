#include "launcher/meeting/interfaces.hpp"

#include "rendezvous/fd.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <ifaddrs.h>
#include <memory>
#include <netdb.h>

namespace ddprun {
namespace {

/// Empty for other kinds of addresses.
std::string text_of(const sockaddr* address) {
  std::array<char, NI_MAXHOST> text{};
  if (address == nullptr) return {};
  if (address->sa_family != AF_INET && address->sa_family != AF_INET6) return {};
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const int failed =
      ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? text.data() : std::string();
}

/// Of a datagram to `address`: the kernel chooses a route and so a source when a socket connects.
std::string source_towards(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* to = nullptr;
  constexpr const char* discard = "9";  // any port will do
  if (::getaddrinfo(address.c_str(), discard, &hints, &to) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(to, &::freeaddrinfo);
  const Fd socket(::socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open() || ::connect(socket.get(), to->ai_addr, to->ai_addrlen) != 0) return {};
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* name = reinterpret_cast<sockaddr*>(&own);
  return ::getsockname(socket.get(), name, &size) == 0 ? text_of(name) : std::string();
}

}  // namespace

std::vector<Interface> network_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<Interface> interfaces;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    const std::string address = text_of(each->ifa_addr);
    if (address.empty() || (each->ifa_flags & IFF_UP) == 0) continue;
    interfaces.push_back({each->ifa_name, address});
  }
  return interfaces;
}

std::vector<std::string> addresses_of(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, &::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
    const std::string address = text_of(each->ai_addr);
    if (!address.empty()) addresses.push_back(address);
  }
  return addresses;
}

std::string address_towards(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    if (std::string source = source_towards(address); !source.empty()) return source;
  }
  return {};
}

}  // namespace ddprun
