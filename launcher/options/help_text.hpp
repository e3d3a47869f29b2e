// The text of --help, made of the table of options.
#pragma once

#include <string>

namespace ddprun {

/// For a terminal of that many columns, which are taken as 60 at least and 120 at most.
[[nodiscard]] std::string help_text(int columns);

}  // namespace ddprun
