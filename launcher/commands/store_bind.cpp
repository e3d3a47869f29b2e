#include "launcher/commands/store_bind.hpp"

#include "launcher/meeting/rendezvous_plan.hpp"
#include "rendezvous/ip_network.hpp"
#include "rendezvous/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

Error refused_bind(const std::string& named, const std::string& why, std::string fix) {
  return {ExitStatus::usage,
          fmt::format("--bind: '{}' from the command line {}", printable(named), why),
          "",
          std::move(fix)};
}

/// Empty: there is no such interface.
std::string best_address_of(const std::string& name, const std::vector<Interface>& interfaces) {
  std::string best;
  for (const Interface& each : interfaces) {
    if (each.name != name) continue;
    if (!is_link_local(each.address)) return each.address;
    if (best.empty()) best = each.address;
  }
  return best;
}

/// Whether `text` is "fe80::1%eth0", and eth0 has that address.
bool names_its_interface(const std::string& text, const std::vector<Interface>& interfaces) {
  const std::size_t percent = text.find('%');
  if (percent == std::string::npos) return false;
  return std::ranges::any_of(interfaces, [&](const Interface& each) {
    return each.name == text.substr(percent + 1) &&
           parse_ip_address(each.address) == parse_ip_address(text);
  });
}

}  // namespace

Result<std::string> address_to_bind(const StoreCommandOptions& options,
                                    const std::vector<Interface>& interfaces) {
  const std::string& named = options.bind;
  if (named.empty()) return options.allow.empty() ? "127.0.0.1" : every_address(interfaces);
  std::string address = best_address_of(named, interfaces);
  if (address.empty()) address = named;
  if (!parse_ip_address(address)) {
    return refused_bind(named,
                        "is neither an address nor an interface of this machine that has one",
                        "ip -brief address lists both");
  }
  if (!is_link_local(address)) return address;
  if (!names_its_interface(address, interfaces)) {
    return refused_bind(
        named,
        "is link-local, and is not followed by % and an interface with that address",
        "ip -brief address lists the addresses of each interface");
  }
  if (options.allow.empty()) {
    return refused_bind(named,
                        fmt::format("leads to {}, which is link-local: the kernel does not tell "
                                    "which user connects there",
                                    address),
                        "add --allow, or bind another address");
  }
  return address;
}

}  // namespace ddprun
