// This node's whole name, as Python's socket.gethostname().
#pragma once

#include <unistd.h>

#include <array>
#include <string>

namespace ddprun::worker {

[[nodiscard]] inline std::string host_name() {
  std::array<char, 256> name{};
  static_cast<void>(::gethostname(name.data(), name.size() - 1));
  return name.data();
}

}  // namespace ddprun::worker
