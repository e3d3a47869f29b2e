// Names from a file that somebody else may have written, as errors show them.
#pragma once

#include "rendezvous/printable.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace ddprun::worker {

/// `name` without bytes that could command a terminal or begin a line, and cut to 120 bytes.
[[nodiscard]] inline std::string shown(std::string_view name) {
  constexpr std::size_t bytes_max = 120;
  if (name.size() <= bytes_max) return printable(name);
  return printable(name.substr(0, bytes_max)) + "...";
}

}  // namespace ddprun::worker
