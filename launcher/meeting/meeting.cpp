#include "launcher/meeting/meeting.hpp"

#include "launcher/disk/marks.hpp"
#include "launcher/meeting/token.hpp"
#include "launcher/system/random_number.hpp"
#include "launcher/text/values.hpp"
#include "rendezvous/ip_network.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace ddprun {
namespace {

Result<std::string> job_id(const RendezvousOptions& options, const Environment& environment) {
  if (!options.job_id.empty()) return options.job_id;
  const std::string of_slurm = find_variable(environment, "SLURM_JOB_ID").value_or("");
  return of_slurm.empty() ? "none" : read_job_id({of_slurm, "SLURM_JOB_ID"});
}

/// Slurm runs a job again, under the same number, only when all of its processes have ended.
std::string name_of_run(const std::string& id,
                        const Endpoint& endpoint,
                        const Environment& environment) {
  const auto restarts =
      parse_count(find_variable(environment, "SLURM_RESTART_COUNT").value_or("0"));
  const bool is_first = !find_variable(environment, "SLURM_JOB_ID") || restarts.value_or(0) == 0;
  return fmt::format(
      "{}{}@{}", id, is_first ? "" : fmt::format(".r{}", *restarts), text_of(endpoint));
}

/// Names are looked up only if necessary: usually all hosts have the endpoint's port.
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

/// The last line names the cause.
Error no_token(std::string_view what, const Endpoint& endpoint, std::string_view otherwise) {
  return {ExitStatus::usage,
          fmt::format("once, in a home that all nodes share: "
                      "(umask 077; openssl rand -hex 32 > ~/.ddprun-token)\n"
                      "ddprun: then on each node: export DDPRUN_TOKEN_FILE=~/.ddprun-token\n"
                      "ddprun: {}",
                      what),
          fmt::format("anyone who reaches {} could take part in the job", text_of(endpoint)),
          fmt::format("make a token by these two lines{}", otherwise)};
}

bool is_loopback_text(const std::string& text) {
  const auto address = parse_ip_address(text);
  return address && is_loopback(*address);
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
  meeting.name = name_of_run(meeting.credentials.job_id, *options.endpoint, environment);
  if (options.endpoint->port != 0) {
    meeting.marks_folder = marks_folder(options.state_dir, meeting.name);
    meeting.mark = newest_mark(meeting.marks_folder);
  }
  return meeting;
}

Result<void> check_token(const Options& options,
                         const Environment& environment,
                         const Meeting& meeting) {
  const bool draws_one = options.is_task_of_many() || options.starts_agents();
  if (meeting.credentials.authenticated || draws_one) return {};
  const RendezvousOptions& rendezvous = options.rendezvous;
  if (rendezvous.requires_token) {
    return no_token("--require-token: there is no token", *rendezvous.endpoint, "");
  }
  const bool hears_this_host_alone = is_loopback_text(meeting.plan.listen_address);
  const bool is_in_slurm = environment.contains("SLURM_JOB_ID");
  if (hears_this_host_alone || is_in_slurm) return {};
  if (rendezvous.is_insecure || is_torchrun(options.called_as)) return {};
  return no_token(
      "a job of several hosts has no token", *rendezvous.endpoint, ", or give --insecure");
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
