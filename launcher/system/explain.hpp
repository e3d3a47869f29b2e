// Turns an exception into a line on stderr and an exit status.
#pragma once

#include <exception>

namespace ddprun {

/// A Failure says it itself; what the system has refused, and what is a defect, is said here.
[[nodiscard]] int explain(const std::exception& error);

}  // namespace ddprun
