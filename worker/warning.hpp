// Where warnings go if the program says nothing else.
#pragma once

#include <iostream>
#include <string>

namespace ddprun::worker {

/// `line` on stderr, at once and whole.
inline void warn_on_stderr(const std::string& line) {
  std::cerr << line + "\n" << std::flush;
}

}  // namespace ddprun::worker
