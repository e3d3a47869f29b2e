// The text of --help, made of the table of options.
#pragma once

#include <string>

namespace ddprun {

/// For a terminal of that many columns, which are taken as 60 at least and 120 at most. Called as
/// torchrun there are no subcommands.
[[nodiscard]] std::string help_text(int columns, bool as_torchrun = false);

}  // namespace ddprun
