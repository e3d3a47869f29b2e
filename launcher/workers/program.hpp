// Finds the executable for PROGRAM as the user wrote it.
#pragma once

#include "launcher/options/options.hpp"
#include "launcher/processes/command.hpp"
#include "launcher/text/environment.hpp"
#include "launcher/workers/worker_env.hpp"
#include "rendezvous/result.hpp"

namespace ddprun {

/// Finds the program: an executable is executed (without a slash in its name ./PROGRAM if that can
/// be executed, else the first on PATH), and Python's programs are run by an interpreter, with -u:
/// $PYTHON_EXEC, else the python3 beside ddprun if it was called by an absolute path or belongs to
/// a Python environment, else the first on PATH; never another one below the current folder, since
/// that may be anybody's. The error says why not and has sh's status: 127 not found, 126 not
/// executable.
[[nodiscard]] Result<Command> find_program(const Options& options, const Environment& environment);

/// The python3 in the folder where this program was called, through links as they are: that of
/// the environment that has it. Empty if there is none, or PATH counts for more.
[[nodiscard]] std::string python_beside(const std::string& called_as,
                                        const Environment& environment);

/// The command of one worker: the macros in its arguments are replaced.
[[nodiscard]] Command command_for(const Command& command,
                                  const WorkerSetup& setup,
                                  const WorkerPlace& place);

}  // namespace ddprun
