#include "launcher/meeting/token_rule.hpp"

#include "rendezvous/ip_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace ddprun {
namespace {

Error no_token(std::string_view what, const Endpoint& endpoint, std::string_view otherwise) {
  return {ExitStatus::usage,
          std::string(what),
          fmt::format("anyone who reaches {} could take part in the job", text_of(endpoint)),
          fmt::format("make a token by these two lines{}:\n"
                      "    (umask 077; openssl rand -hex 32 > ~/.ddprun-token)  "
                      "# once, in a home that all nodes share\n"
                      "    export DDPRUN_TOKEN_FILE=~/.ddprun-token  # on each node",
                      otherwise)};
}

}  // namespace

Result<void> check_missing_token(const Options& options,
                                 const Environment& environment,
                                 const std::string& listen_address) {
  if (options.is_task_of_many() || options.starts_agents()) return {};  // it draws one
  const RendezvousOptions& rendezvous = options.rendezvous;
  if (rendezvous.requires_token) {
    return no_token("--require-token: there is no token", *rendezvous.endpoint, "");
  }
  const bool is_in_slurm = environment.contains("SLURM_JOB_ID");
  const bool stays_here = is_loopback(listen_address) &&
                          std::ranges::all_of(rendezvous.other_doors, [](const Endpoint& door) {
                            return door.host == "localhost" || is_loopback(door.host);
                          });
  if (stays_here || is_in_slurm) return {};
  if (rendezvous.is_insecure || is_torchrun(options.called_as)) return {};
  return no_token(
      "a job of several hosts has no token", *rendezvous.endpoint, ", or give --insecure");
}

}  // namespace ddprun
