// The requirements of a job of many nodes before it starts: this node's part and the credentials.
#pragma once

#include "launcher/meeting/interfaces.hpp"
#include "launcher/meeting/rendezvous_plan.hpp"
#include "launcher/options/rendezvous_options.hpp"
#include "launcher/text/environment.hpp"
#include "rendezvous/membership/messages.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/wire/credentials.hpp"

#include <string>
#include <vector>

namespace ddprun {

/// What is said where the job has no token.
constexpr const char* not_authenticated =
    "not authenticated: anyone who reaches this port and knows the job's id can join; set "
    "DDPRUN_TOKEN to the output of: openssl rand -hex 32";

struct Meeting {
  std::vector<Interface> interfaces;  ///< Of this node.
  RendezvousPlan plan;
  Credentials credentials;
  Will will;                 ///< Of the agent in this process; both numbers are drawn at random.
  std::string name;          ///< Of this run of the job, for folders: "none@n0:29400".
  std::string marks_folder;  ///< Empty: the job is to keep no marks (marks.hpp).
  Epoch mark;                ///< The newest that was left there; 0: none was.
};

/// For options with many nodes. `host` is this node's name. Looks the endpoint up and reads the
/// job's token; the job's id is --rdzv-id, else that of the Slurm job, else "none" as in torchrun.
[[nodiscard]] Result<Meeting> prepare_meeting(const RendezvousOptions& options,
                                              const Environment& environment,
                                              const std::string& host);

/// For options of one node: where its workers find their store, 127.0.0.1 unless it is asked for.
[[nodiscard]] Result<Meeting> prepare_alone(const RendezvousOptions& options);

}  // namespace ddprun
