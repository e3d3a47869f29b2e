// The exceptions of the worker runtime. Their text is for users: what failed, why, what to do.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace ddprun::worker {

/// All `parts` in a row, as operator<< prints them.
template <typename... Parts>
[[nodiscard]] std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A filesystem refused an operation. It may succeed later, such as on a full disk.
class FileError : public Error {
 public:
  using Error::Error;
};

}  // namespace ddprun::worker
