// Finds the executable for PROGRAM as the user wrote it.
#pragma once

#include "launcher/options/options.hpp"
#include "launcher/processes/command.hpp"
#include "launcher/text/environment.hpp"
#include "launcher/workers/rank_map.hpp"
#include "rendezvous/result.hpp"

namespace ddprun {

/// Finds the program: an executable is executed (without a slash in its name ./PROGRAM if that can
/// be executed, else the first on PATH); a .py file and a module are run by $PYTHON_EXEC or
/// python3, with -u. The error says why not and has sh's status: 127 not found, 126 not
/// executable.
[[nodiscard]] Result<Command> find_program(const Options& options, const Environment& environment);

/// The command of one worker: ${local_rank} and ${rank} in arguments are replaced.
[[nodiscard]] Command command_for(const Command& command, const WorkerPlace& place);

}  // namespace ddprun
