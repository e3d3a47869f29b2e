// Selects the command of this process from the command line.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// What --version says.
struct Versions {
  std::string ddprun;
  std::string commit;
  std::string compiler;
  std::string tested_libtorch;
};

/// `words` are main()'s: first that by which this program was called. Called by the name torchrun
/// it has no subcommands. Returns the status to exit with. Throws what explain() says.
[[nodiscard]] int dispatch(const std::vector<std::string>& words, const Versions& versions);

}  // namespace ddprun
