#include "launcher/meeting.hpp"

#include "launcher/token.hpp"

#include <utility>

namespace ddprun {
namespace {

std::string job_id(const RendezvousOptions& options, const Environment& environment) {
  if (!options.job_id.empty()) return options.job_id;
  const auto slurm = environment.find("SLURM_JOB_ID");
  return slurm == environment.end() ? "none" : slurm->second;
}

}  // namespace

Result<Meeting> prepare_meeting(const RendezvousOptions& options,
                                const Environment& environment,
                                const std::string& host) {
  Meeting meeting;
  meeting.interfaces = network_interfaces();
  NodeNetwork network{host, meeting.interfaces, addresses_of(options.endpoint->host), {}};
  network.towards_endpoint = address_towards(network.endpoint_addresses);
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
