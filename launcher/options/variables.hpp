// Which variables are ddprun's: settings, and those that identify a worker.
#pragma once

#include "launcher/text/environment.hpp"
#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

#include <string>
#include <string_view>

namespace ddprun {

/// DDPRUN_<OPTION> and, for torchrun's options, PET_<OPTION>; the former wins. A DDPRUN_ variable
/// that is neither an option nor one that workers are given is an error: it would be a typing error
/// that nobody sees. Unknown PET_ variables are torchrun's business.
[[nodiscard]] Result<Settings> settings_in(const Environment& environment);

/// Variables that ddprun sets for workers, so that a ddprun started by a worker finds them.
[[nodiscard]] bool is_worker_variable(const std::string& name);

/// Variables that lead to the job's token: for ddprun, and for no worker.
[[nodiscard]] bool is_secret_variable(const std::string& name);

/// Whether a variable says who a worker is, so that no user's value of it reaches a worker.
[[nodiscard]] bool is_set_by_ddprun(std::string_view name);

/// What the user is told of variables in `environment` that no worker will see as they are; empty
/// if there are none.
[[nodiscard]] std::string replaced_variables_note(const Environment& environment);

}  // namespace ddprun
