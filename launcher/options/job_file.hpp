// Reads a YAML job file into settings, program, arguments and the workers' variables.
//
// Bound: a file of `job_file_bytes_max`.
#pragma once

#include "launcher/text/environment.hpp"
#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

#include <cstddef>
#include <string>

namespace ddprun {

constexpr std::size_t job_file_bytes_max = 1024 * 1024;

/// Reads the file at `path`, and lays the keys of `profile` over its own if that has a value. In
/// each value ${NAME} and ${NAME:-default} are replaced from `environment`. Every error begins
/// with file:line:column, except that of a profile that is not there.
[[nodiscard]] Result<Source> read_job_file(const std::string& path,
                                           const Environment& environment,
                                           const Setting& profile);

/// The same for a text already read; `name` is what errors call it.
[[nodiscard]] Result<Source> parse_job_file(const std::string& text,
                                            const std::string& name,
                                            const Environment& environment,
                                            const Setting& profile);

}  // namespace ddprun
