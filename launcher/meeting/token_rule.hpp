// Which jobs may run without a token. Pure.
#pragma once

#include "launcher/options/options.hpp"
#include "launcher/text/environment.hpp"
#include "rendezvous/result.hpp"

#include <string>

namespace ddprun {

/// Refuses a job without a token that anyone of another host could take part in, unless that was
/// asked for, ddprun was called as torchrun, or it runs within a job of Slurm, whose scripts and
/// tasks draw a token themselves where they are given no endpoint. With --require-token all jobs
/// without one are refused. `listen_address`: where this process is to listen.
[[nodiscard]] Result<void> check_missing_token(const Options& options,
                                               const Environment& environment,
                                               const std::string& listen_address);

}  // namespace ddprun
