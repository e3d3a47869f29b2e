#include "launcher/meeting/meeting.hpp"

#include "launcher/allocation/allocation.hpp"
#include "launcher/disk/marks.hpp"
#include "launcher/meeting/token.hpp"
#include "launcher/system/random_number.hpp"
#include "rendezvous/ip_network.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <cstdint>
#include <utility>

namespace ddprun {
namespace {

Result<std::string> job_id(const RendezvousOptions& options, const Environment& environment) {
  if (!options.job_id.empty()) return options.job_id;
  const std::string of_slurm = find_variable(environment, "SLURM_JOB_ID").value_or("");
  return of_slurm.empty() ? "none" : read_job_id({of_slurm, "SLURM_JOB_ID"});
}

/// Slurm runs a job again, under the same number, only when all of its processes have ended.
std::string name_of_run(const std::string& id, const Endpoint& endpoint, std::int64_t restarts) {
  const std::string run = restarts == 0 ? "" : fmt::format(".r{}", restarts);
  return fmt::format("{}{}@{}", id, run, text_of(endpoint));
}

/// Names are looked up only if necessary: usually all hosts have the endpoint's port.
std::uint16_t own_door(const RendezvousOptions& options, const std::vector<Interface>& interfaces) {
  for (const Endpoint& door : options.other_doors) {
    if (door.port == options.endpoint->port) continue;
    for (const std::string& address : addresses_of(door.host)) {
      const bool is_own = !is_loopback(address) && !interface_of(address, interfaces).empty();
      if (is_own) return door.port;
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
  const std::string name = advertised_name(options, host);
  if (!name.empty()) network.advertised_addresses = addresses_of(name);
  auto plan = plan_rendezvous(options, network);
  if (!plan) return plan.error();
  meeting.plan = *std::move(plan);
  const auto token = token_in(environment);
  if (!token) return token.error();
  const auto id = job_id(options, environment);
  if (!id) return id.error();
  auto credentials = make_credentials(*id, *token);
  if (!credentials) return credentials.error();
  meeting.credentials = *std::move(credentials);
  meeting.will.agent = random_number();
  randombytes_buf(meeting.will.secret.data(), meeting.will.secret.size());
  const auto restarts = slurm_restarts(environment);
  if (!restarts) return restarts.error();
  meeting.name = name_of_run(meeting.credentials.job_id, *options.endpoint, *restarts);
  if (options.endpoint->port != 0) {
    meeting.marks_folder = marks_folder(options.state_dir, meeting.name);
    meeting.mark = newest_mark(meeting.marks_folder);
  }
  return meeting;
}

Result<Meeting> prepare_alone(const RendezvousOptions& options) {
  Meeting meeting;
  meeting.interfaces = network_interfaces();
  NodeNetwork network{{}, meeting.interfaces, {"127.0.0.1"}, {}};
  if (options.store) network.endpoint_addresses = addresses_of(options.store->host);
  auto plan = plan_alone(options, network);
  if (!plan) return plan.error();
  meeting.plan = *std::move(plan);
  return meeting;
}

}  // namespace ddprun
