// Parses a YAML job file into settings, program, arguments and the workers' variables.
//
// Bounds: a file of `job_file_bytes_max`, a nesting of `job_file_depth_max`; aliases are refused,
// since they let a small file expand to a large one.
#pragma once

#include "launcher/text/environment.hpp"
#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

#include <cstddef>
#include <string>

namespace ddprun {

constexpr std::size_t job_file_bytes_max = 1024 * 1024;
constexpr int job_file_depth_max = 16;

/// Reads the file at `path`. ${NAME} and ${NAME:-default} in the values of `env` are replaced from
/// `environment`; $$ is a dollar sign. Every error begins with file:line:column.
[[nodiscard]] Result<Source> read_job_file(const std::string& path, const Environment& environment);

/// The same for a text already read; `name` is what errors call it.
[[nodiscard]] Result<Source> parse_job_file(const std::string& text,
                                            const std::string& name,
                                            const Environment& environment);

}  // namespace ddprun
