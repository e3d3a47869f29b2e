// What makes shells complete ddprun's options and their values, from the option table. Pure.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

#include <string>
#include <string_view>

namespace ddprun {

/// The script for that shell: bash, zsh or fish. It completes lines that begin with `command`;
/// after the program of a line files are completed.
[[nodiscard]] Result<std::string> completion_script(const Setting& shell, std::string_view command);

}  // namespace ddprun
