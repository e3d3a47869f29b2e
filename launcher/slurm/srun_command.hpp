// The srun command that starts an agent on a node of a Slurm job. Pure.
#pragma once

#include "launcher/processes/command.hpp"
#include "launcher/text/environment.hpp"
#include "launcher/text/settings.hpp"
#include "rendezvous/generations/gathering.hpp"
#include "rendezvous/units.hpp"

#include <set>
#include <string>
#include <vector>

namespace ddprun {

/// What is the same for the agents of all nodes.
struct AgentSteps {
  std::vector<std::string> nodes;  ///< Slurm's names of them, in the order of their places.
  std::string srun;                ///< Its path,
  std::string ddprun;              ///< and that of this program, which all nodes see.
  Source command_line;             ///< Of this program: agents read the rest of it for themselves.
  std::vector<int> gpus;  ///< To ask for on each of them; empty: what the job has asked for.
  int nodes_min = 1;
  int nodes_max = 1;
  std::set<int> saving_signals;  ///< After an end by these the job is to go on.
  Millis join_timeout = GatheringOptions{}.join_timeout;
  std::string job_id;
  std::string endpoint;     ///< Of the coordinator.
  Environment environment;  ///< For srun and its tasks.
};

/// A step of one task on that node which has the node to itself beside others: all of its cores,
/// memory and GPUs that are the job's. It outlives the loss of other nodes, and ends with its task.
[[nodiscard]] Command srun_command(const AgentSteps& steps, NodeId node);

/// `inherited` without the variables that would change or narrow the srun: of Slurm's own
/// only those are left that identify the job, which scripts and workers may read.
/// `token_file` is added if there is one.
[[nodiscard]] Environment srun_environment(const Environment& inherited,
                                           const std::string& token_file);

}  // namespace ddprun
