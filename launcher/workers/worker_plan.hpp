// The start values of this node's workers, in each generation.
#pragma once

#include "launcher/options/output_options.hpp"
#include "launcher/processes/command.hpp"
#include "launcher/workers/terminal_owner.hpp"
#include "launcher/workers/worker_env.hpp"

#include <optional>
#include <set>

namespace ddprun {

struct WorkerPlan {
  Command command;
  WorkerSetup setup;
  OutputOptions output;
  std::set<int> ignored_signals;  ///< Until the program says otherwise.
  TerminalOwner terminal;
  std::optional<Rank> stdin_rank =
      {};                ///< Whose ddprun's standard input is, if it is on this node.
  bool colours = false;  ///< Of prefixes on a terminal.
};

}  // namespace ddprun
