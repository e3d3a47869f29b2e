// The keys of job files as a JSON schema, by which editors complete and check them. Pure.
#pragma once

#include <string>

namespace ddprun {

/// Made of the table of options: every key with its help and its default.
[[nodiscard]] std::string job_file_schema();

}  // namespace ddprun
