// Reads a file that a person has named: it may be of any kind and size.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace ddprun {

/// How many times `patience` a pipe's writer may be silent.
constexpr int silences_max = 12;

/// Returns the bytes of the file at `path`, the first `bytes_max` of a longer one. A pipe that
/// nobody writes to is given up after `patience`: that a writer opens it is waited for, too.
/// Throws a std::system_error; of a pipe given up it is ETIMEDOUT.
[[nodiscard]] std::string read_named_file(const std::string& path,
                                          std::size_t bytes_max,
                                          std::chrono::milliseconds patience);

}  // namespace ddprun
