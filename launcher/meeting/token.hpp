// Reads the job's token.
#pragma once

#include "launcher/text/environment.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/wire/credentials.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace ddprun {

constexpr std::size_t token_file_bytes_max = 4'096;

/// The token in DDPRUN_TOKEN, else in the file that DDPRUN_TOKEN_FILE names; nothing if neither is
/// set. The file must be a regular one of this user's that nobody else has rights to. Whether the
/// token itself is right is not looked at.
[[nodiscard]] Result<std::optional<Token>> token_in(const Environment& environment);

/// Afterwards /proc/PID/environ of this process, which the job's workers may read, shows no token.
/// current_environment() has none any more.
void forget_token_variable();

/// Whether there is one, be it right or wrong.
[[nodiscard]] bool has_token(const Environment& environment);

}  // namespace ddprun
