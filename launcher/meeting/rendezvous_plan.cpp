#include "launcher/meeting/rendezvous_plan.hpp"

#include "rendezvous/ip_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ddprun {
namespace {

constexpr const char* debian_own_name = "127.0.1.1";

bool is_ipv6(const std::string& address) {
  return address.find(':') != std::string::npos;
}

/// Whether `address` is in the network `text`, such as 10.1.0.0/16.
bool is_in_network(const std::string& address, const std::string& text) {
  const auto parsed = parse_ip_address(address);
  const auto network = parse_ip_network(text);
  return parsed && network && network->contains(*parsed);
}

/// The first usable address of the interface or network that was asked for.
Result<std::string> address_on(const std::string& wanted, const NodeNetwork& network) {
  std::string names;
  for (const Interface& each : network.interfaces) {
    const bool chosen = each.name == wanted || is_in_network(each.address, wanted);
    if (chosen && !is_link_local(each.address)) return each.address;
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", each.name, each.address);
  }
  return Error(ExitStatus::usage,
               fmt::format("--interface: '{}' is neither an interface of {} nor a network with "
                           "one of its addresses",
                           wanted,
                           network.host),
               "",
               "it has " + names);
}

/// The endpoint's addresses that this node has.
std::vector<std::string> own_endpoint_addresses(const NodeNetwork& network) {
  std::vector<std::string> own;
  for (const std::string& address : network.endpoint_addresses) {
    if (!is_loopback(address) && !interface_of(address, network.interfaces).empty()) {
      own.push_back(address);
    }
  }
  return own;
}

/// Empty: none. A name may lead to a loopback address here, by which others do not reach it.
std::string interface_of_advertised(const NodeNetwork& network) {
  for (const std::string& address : network.advertised_addresses) {
    std::string found = interface_of(address, network.interfaces);
    if (!found.empty() && !is_loopback(address)) return found;
  }
  return {};
}

/// A node of one family alone cannot use an address of the other.
bool has_both_families(const std::vector<std::string>& addresses) {
  return std::ranges::any_of(addresses, is_ipv6) && !std::ranges::all_of(addresses, is_ipv6);
}

bool leads_to_itself(const NodeNetwork& network) {
  return !network.endpoint_addresses.empty() &&
         std::ranges::all_of(network.endpoint_addresses,
                             [](const std::string& address) { return is_loopback(address); });
}

/// Of the endpoint's addresses that this node has, `own`, the first; else, where the endpoint is a
/// loopback address, that one.
std::string address_of_head(const NodeNetwork& network, const std::vector<std::string>& own) {
  const bool named_as_installed = std::ranges::find(network.endpoint_addresses, debian_own_name) !=
                                  network.endpoint_addresses.end();
  const bool is_alone = leads_to_itself(network) && !named_as_installed;
  if (is_alone) return network.endpoint_addresses.front();
  return own.empty() ? std::string() : own.front();
}

bool is_own(const std::string& address, const std::vector<Interface>& interfaces) {
  return is_loopback(address) || !interface_of(address, interfaces).empty();
}

}  // namespace

std::string every_address(const std::vector<Interface>& interfaces) {
  return std::ranges::any_of(interfaces, is_ipv6, &Interface::address) ? "::" : "0.0.0.0";
}

Result<RendezvousPlan> plan_alone(const RendezvousOptions& options, const NodeNetwork& network) {
  RendezvousPlan plan;
  plan.own_address = options.store ? options.store->host : "127.0.0.1";
  const auto own = std::ranges::find_if(
      network.endpoint_addresses,
      [&](const std::string& address) { return is_own(address, network.interfaces); });
  if (own != network.endpoint_addresses.end()) {
    plan.interface = interface_of(*own, network.interfaces);
    return plan;
  }
  return Error(ExitStatus::usage,
               fmt::format("{} is no address of this node", options.store_host_from),
               "the workers of a job of one node meet on that node",
               "leave it out, or raise --nnodes");
}

std::string first_address(const std::vector<Interface>& interfaces) {
  for (const bool ipv6 : {false, true}) {
    for (const Interface& each : interfaces) {
      const bool leads_here = !is_loopback(each.address) && !is_link_local(each.address);
      if (leads_here && is_ipv6(each.address) == ipv6) return each.address;
    }
  }
  return {};
}

std::string advertised_name(const RendezvousOptions& options, const std::string& host) {
  if (!options.advertise.empty()) return options.advertise;
  return options.hostname_suffix.empty() ? std::string() : host + options.hostname_suffix;
}

std::string interface_of(const std::string& address, const std::vector<Interface>& interfaces) {
  const auto found = std::ranges::find(interfaces, address, &Interface::address);
  return found == interfaces.end() ? std::string() : found->name;
}

std::string store_address(const std::string& address, const std::vector<Interface>& interfaces) {
  return interface_of(address, interfaces).empty() ? every_address(interfaces) : address;
}

std::vector<IpAddress> addresses_for_others(const RendezvousPlan& plan,
                                            const std::vector<Interface>& interfaces) {
  std::vector<IpAddress> addresses;
  const auto add = [&](const std::string& text) {
    const auto address = parse_ip_address(text);
    if (!address || is_loopback(*address) || is_link_local(*address)) return;
    const bool is_new = std::ranges::find(addresses, *address) == addresses.end();
    if (is_new && addresses.size() < Offer::addresses_max) addresses.push_back(*address);
  };
  add(plan.own_address);
  for (const bool likely : {true, false}) {
    for (const Interface& each : interfaces) {
      if ((each.name == plan.interface) == likely) add(each.address);
    }
  }
  return addresses;
}

Result<RendezvousPlan> plan_rendezvous(const RendezvousOptions& options,
                                       const NodeNetwork& network) {
  RendezvousPlan plan;
  const std::vector<std::string> own = own_endpoint_addresses(network);
  const bool named_as_installed = std::ranges::find(network.endpoint_addresses, debian_own_name) !=
                                  network.endpoint_addresses.end();
  plan.is_on_one_host = leads_to_itself(network) && !named_as_installed;
  const bool told = options.node_rank.has_value() || options.is_host.has_value();
  if (told) {
    plan.is_head = options.is_host.value_or(options.node_rank == NodeId{0});
  } else {
    plan.is_head = !own.empty() || named_as_installed || plan.is_on_one_host;
  }
  plan.own_address = advertised_name(options, network.host);
  if (plan.own_address.empty() && !options.interface.empty()) {
    auto chosen = address_on(options.interface, network);
    if (!chosen) return chosen.error();
    plan.own_address = *std::move(chosen);
  } else if (plan.own_address.empty()) {
    plan.own_address = plan.is_head ? address_of_head(network, own) : network.towards_endpoint;
    if (plan.own_address.empty()) plan.own_address = first_address(network.interfaces);
    if (plan.own_address.empty()) plan.own_address = "127.0.0.1";
  }
  plan.interface = interface_of(plan.own_address, network.interfaces);
  if (plan.interface.empty()) plan.interface = interface_of_advertised(network);
  plan.listen_address = store_address(plan.own_address, network.interfaces);
  const bool is_only_one = own.size() == 1 && own.front() == plan.own_address;
  if (plan.is_head && !is_only_one) plan.listen_address = every_address(network.interfaces);
  if (plan.is_on_one_host && is_loopback(plan.own_address)) plan.listen_address = plan.own_address;
  const bool chosen =
      !options.advertise.empty() || !options.hostname_suffix.empty() || !options.interface.empty();
  if (plan.is_head && !chosen && has_both_families(own)) plan.own_address = options.endpoint->host;
  plan.is_at_endpoint = !own.empty() || leads_to_itself(network);
  if (plan.is_head || !plan.is_at_endpoint) plan.listen_port = options.endpoint->port;
  if (!plan.is_head && network.own_door != 0) plan.listen_port = network.own_door;
  return plan;
}

}  // namespace ddprun
