// torchrun's options that change nothing here: their values are checked as torchrun does, and
// people are told. Pure.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

#include <string>
#include <vector>

namespace ddprun {

/// --monitor-interval, --start-method, --event-log-handler, --logs-specs and --use-env: an error
/// for a value that asks for something that ddprun does not have.
[[nodiscard]] Result<void> check_torchrun_options(const Settings& all);

/// The line about those that were given although they change nothing, and such keys of
/// --rdzv-conf; empty: none was.
[[nodiscard]] std::string needless_note(const Settings& all,
                                        const std::vector<std::string>& unused_conf);

}  // namespace ddprun
