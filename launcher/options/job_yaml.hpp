// Parses the text of a job file into YAML's nodes, and refuses what no job file may hold.
//
// Bounds: a nesting of `job_file_depth_max`; aliases are refused, since they let a small file
// expand to a large one.
#pragma once

#include "rendezvous/result.hpp"

#include <yaml-cpp/yaml.h>

#include <string>

namespace ddprun {

constexpr int job_file_depth_max = 16;

/// "job.yaml:3:8", counted from 1.
[[nodiscard]] std::string position_in(const std::string& file, const YAML::Mark& mark);

/// The one document in `text`; `file` is what errors call it. Throws a Failure that
/// begins with file:line:column.
[[nodiscard]] YAML::Node load_job_yaml(const std::string& text, const std::string& file);

}  // namespace ddprun
