// Selects the command of this process from the command line.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// What --version says.
struct Versions {
  std::string ddprun;
  std::string tested_libtorch;
};

/// Returns the status to exit with. Throws what explain() says.
[[nodiscard]] int dispatch(const std::vector<std::string>& arguments, const Versions& versions);

}  // namespace ddprun
