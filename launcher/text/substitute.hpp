// Replacement of ${NAME} in texts of the job file and in arguments of workers.
#pragma once

#include "rendezvous/result.hpp"

#include <map>
#include <string>
#include <string_view>

namespace ddprun {

/// Replaces ${NAME} and ${NAME:-default} (also when NAME is empty, as in sh) by `values`, and $$ by
/// a dollar sign; a lone $ stays. A name without value or default is an error, and so is a missing
/// brace.
[[nodiscard]] Result<std::string> substitute(std::string_view text,
                                             const std::map<std::string, std::string>& values);

/// Replaces ${NAME} for the names in `values` alone and leaves everything else as it is: torchrun's
/// macros such as ${local_rank} in arguments.
[[nodiscard]] std::string expand_macros(std::string_view text,
                                        const std::map<std::string, std::string>& values);

}  // namespace ddprun
