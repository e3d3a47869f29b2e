// All that this process knows of its job before it starts: options, the meeting, its workers'
// setup, Slurm.
#pragma once

#include "launcher/meeting/meeting.hpp"
#include "launcher/options/options.hpp"
#include "launcher/slurm/slurm_control.hpp"
#include "launcher/slurm/srun_command.hpp"
#include "launcher/text/terminal_manner.hpp"
#include "launcher/workers/program.hpp"
#include "launcher/workers/terminal_owner.hpp"
#include "launcher/workers/worker_env.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ddprun {

struct Job {
  std::string version;  ///< Of ddprun.
  Options options;
  Command command;
  WorkerSetup setup;
  std::vector<std::string> notes;  ///< For people, one line each, before anything happens.
  TerminalOwner terminal;
  TerminalManner manner;      ///< Of the terminal that this process writes to, if any.
  Meeting meeting;            ///< With the other nodes, if there are any.
  std::string claims_folder;  ///< The same on all of them; empty: none.

  /// This process only votes and coordinates: it starts no workers, however many the options say.
  bool witness = false;

  /// To be started on the nodes by this process, which is a witness.
  std::optional<AgentSteps> steps;

  std::optional<SlurmControl> slurm;  ///< Of the allocation that says what nodes there are.
};

}  // namespace ddprun
