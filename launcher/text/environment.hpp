// The environment of a process, as a value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace ddprun {

using Environment = std::map<std::string, std::string>;

/// The environment of this process.
[[nodiscard]] Environment current_environment();

/// What that variable is set to; nothing if it is not set.
[[nodiscard]] std::optional<std::string> find_variable(const Environment& environment,
                                                       const std::string& name);

/// The same as a number; nothing also if it is none, or has a sign.
[[nodiscard]] std::optional<std::int64_t> count_in(const Environment& environment,
                                                   const std::string& name);

}  // namespace ddprun
