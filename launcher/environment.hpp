// DDPRUN_* and PET_* variables → settings.
#pragma once

#include "launcher/settings.hpp"
#include "rendezvous/result.hpp"

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

/// DDPRUN_<OPTION> and, for torchrun's options, PET_<OPTION>; the former wins. A DDPRUN_ variable
/// that is neither an option nor one that workers are given is an error: it would be a typing error
/// that nobody sees. Unknown PET_ variables are torchrun's business.
[[nodiscard]] Result<Settings> settings_in(const Environment& environment);

/// Variables that ddprun sets for workers, so that a ddprun started by a worker finds them.
[[nodiscard]] bool is_worker_variable(const std::string& name);

/// Variables that lead to the job's token: for ddprun, and for no worker.
[[nodiscard]] bool is_secret_variable(const std::string& name);

}  // namespace ddprun
