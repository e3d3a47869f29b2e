#include "launcher/rendezvous_plan.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ddprun {
namespace {

namespace ip = boost::asio::ip;

constexpr const char* debian_own_name = "127.0.1.1";

bool is_loopback(const std::string& address) {
  boost::system::error_code error;
  const ip::address parsed = ip::make_address(address, error);
  return !error && parsed.is_loopback();
}

bool is_link_local(const std::string& address) {
  boost::system::error_code error;
  const ip::address parsed = ip::make_address(address, error);
  return !error && parsed.is_v6() && parsed.to_v6().is_link_local();
}

/// Whether `address` is in the network `text`, such as 10.1.0.0/16; nothing if that is no network.
std::optional<bool> is_in_network(const std::string& address, const std::string& text) {
  boost::system::error_code error;
  const ip::address parsed = ip::make_address(address, error);
  if (error) return false;
  const auto network_v4 = ip::make_network_v4(text, error);
  if (!error) {
    return parsed.is_v4() &&
           ip::make_network_v4(parsed.to_v4(), network_v4.prefix_length()).canonical() ==
               network_v4.canonical();
  }
  const auto network_v6 = ip::make_network_v6(text, error);
  if (error) return std::nullopt;
  return parsed.is_v6() &&
         ip::make_network_v6(parsed.to_v6(), network_v6.prefix_length()).canonical() ==
             network_v6.canonical();
}

/// The first usable address of the interface or network that was asked for.
Result<std::string> address_on(const std::string& wanted, const NodeNetwork& network) {
  std::string names;
  for (const Interface& each : network.interfaces) {
    const bool chosen = each.name == wanted || is_in_network(each.address, wanted).value_or(false);
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

/// One that leads somewhere, IPv4 first; empty if there is none.
std::string first_address(const NodeNetwork& network) {
  for (const bool ipv6 : {false, true}) {
    for (const Interface& each : network.interfaces) {
      const bool is_ipv6 = each.address.find(':') != std::string::npos;
      if (is_ipv6 == ipv6 && !is_loopback(each.address) && !is_link_local(each.address)) {
        return each.address;
      }
    }
  }
  return {};
}

/// Those of the endpoint's addresses that this node has.
std::string own_endpoint_address(const NodeNetwork& network) {
  for (const std::string& address : network.endpoint_addresses) {
    if (!is_loopback(address) && !interface_of(address, network.interfaces).empty()) {
      return address;
    }
  }
  return {};
}

bool leads_to_itself(const NodeNetwork& network) {
  return !network.endpoint_addresses.empty() &&
         std::ranges::all_of(network.endpoint_addresses, is_loopback);
}

}  // namespace

std::string interface_of(const std::string& address, const std::vector<Interface>& interfaces) {
  const auto found = std::ranges::find(interfaces, address, &Interface::address);
  return found == interfaces.end() ? std::string() : found->name;
}

std::string store_address(const std::string& address, const std::vector<Interface>& interfaces) {
  if (!interface_of(address, interfaces).empty()) return address;
  return address.find(':') == std::string::npos ? "0.0.0.0" : "::";
}

Result<RendezvousPlan> plan_rendezvous(const RendezvousOptions& options,
                                       const NodeNetwork& network) {
  RendezvousPlan plan;
  const std::string own = own_endpoint_address(network);
  const bool named_as_installed = std::ranges::find(network.endpoint_addresses, debian_own_name) !=
                                  network.endpoint_addresses.end();
  const bool told = options.node_rank.has_value() || options.is_host.has_value();
  if (told) {
    plan.is_head = options.is_host.value_or(options.node_rank == NodeId{0});
  } else if (leads_to_itself(network) && !named_as_installed) {
    return Error(ExitStatus::usage,
                 fmt::format("--rdzv-endpoint: {} is an address that every node has",
                             text_of(*options.endpoint)),
                 "",
                 "write the name or address of one node, or say which one it is by --node-rank");
  } else {
    plan.is_head = !own.empty() || named_as_installed;
  }
  if (plan.is_head) plan.listen_address = own.empty() ? "0.0.0.0" : own;
  if (plan.is_head && own.empty() && first_address(network).find(':') != std::string::npos) {
    plan.listen_address = "::";
  }

  if (plan.is_head) {
    plan.head_address = own.empty() ? first_address(network) : own;
    const bool is_alone = leads_to_itself(network) && !named_as_installed;
    if (is_alone) plan.head_address = network.endpoint_addresses.front();
    if (plan.head_address.empty()) plan.head_address = "127.0.0.1";
  }
  if (!options.advertise.empty()) {
    plan.chosen_address = options.advertise;
  } else if (!options.hostname_suffix.empty()) {
    plan.chosen_address = network.host + options.hostname_suffix;
  } else if (!options.interface.empty()) {
    auto chosen = address_on(options.interface, network);
    if (!chosen) return chosen.error();
    plan.chosen_address = *std::move(chosen);
  }
  return plan;
}

}  // namespace ddprun
