// What people are told of a worker's failure, beside the line with its end. Pure.
#pragma once

#include "rendezvous/outcome.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace ddprun {

/// What this node knows of its worker that failed.
struct FailureFacts {
  std::deque<std::string> last_lines;  ///< Of its stderr, oldest first,
  bool are_of_both = false;            ///< or of its stdout as well.
  bool were_shown = false;             ///< On this console.
  std::string exception;               ///< That its error file tells; may have several lines.
  std::string error_file;              ///< Its path; empty: there is none that stays.
  std::string executable;
  std::int64_t oom_kills = 0;  ///< By the kernel in this job's group while the generation ran.
  std::string core_pattern;    ///< The kernel's, if it has dumped a core of the worker.
  std::string driver_error;    ///< Of a GPU's driver, while the generation ran.
};

/// The exception, unless the last lines have it, those lines, the error file and hints, if there
/// are any, and the program if it could not be executed; each line indented, the last one ended.
/// Of lines that were shown already the last one with a text. Empty for an outcome without a
/// failure.
[[nodiscard]] std::string failure_details(const Outcome& outcome, const FailureFacts& facts);

/// What to look at first; none is empty.
[[nodiscard]] std::vector<std::string> failure_hints(const WorkerFailure& failure,
                                                     const FailureFacts& facts);

}  // namespace ddprun
