#include "launcher/meeting.hpp"

#include "launcher/token.hpp"
#include "rendezvous/ip_network.hpp"

#include <cstdint>
#include <utility>

namespace ddprun {
namespace {

std::string job_id(const RendezvousOptions& options, const Environment& environment) {
  if (!options.job_id.empty()) return options.job_id;
  return find_variable(environment, "SLURM_JOB_ID").value_or("none");
}

/// Names are looked up only where it matters: mostly all doors have the endpoint's port.
std::uint16_t own_door(const RendezvousOptions& options, const std::vector<Interface>& interfaces) {
  for (const Endpoint& door : options.other_doors) {
    if (door.port == options.endpoint->port) continue;
    for (const std::string& address : addresses_of(door.host)) {
      const auto parsed = parse_ip_address(address);
      const bool is_own = parsed && !is_loopback(*parsed);
      if (is_own && !interface_of(address, interfaces).empty()) return door.port;
    }
  }
  return 0;
}

}  // namespace

Result<Meeting> prepare_meeting(const RendezvousOptions& options,
                                const Environment& environment,
                                const std::string& host) {
  Meeting meeting;
  meeting.interfaces = network_interfaces();
  NodeNetwork network{host, meeting.interfaces, addresses_of(options.endpoint->host), {}};
  network.towards_endpoint = address_towards(network.endpoint_addresses);
  network.own_door = own_door(options, meeting.interfaces);
  auto plan = plan_rendezvous(options, network);
  if (!plan) return plan.error();
  meeting.plan = *std::move(plan);
  const auto token = token_in(environment);
  if (!token) return token.error();
  auto credentials = make_credentials(job_id(options, environment), *token);
  if (!credentials) return credentials.error();
  meeting.credentials = *std::move(credentials);
  if (options.requires_token && !meeting.credentials.authenticated) {
    return Error(ExitStatus::usage,
                 "--require-token: there is no token",
                 "",
                 "set DDPRUN_TOKEN, or DDPRUN_TOKEN_FILE, to the same on all nodes: openssl rand "
                 "-hex 32");
  }
  return meeting;
}

}  // namespace ddprun
