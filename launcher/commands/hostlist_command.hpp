// `ddprun hostlist`: expands, folds and counts lists of hosts, in place of scontrol, which needs a
// configured Slurm.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// What to print for the words behind the name of the subcommand. Reads standard input for `fold`
/// without names. Throws Failure for bad words, lists and input.
[[nodiscard]] std::string hostlist_output(const std::vector<std::string>& words);

}  // namespace ddprun
