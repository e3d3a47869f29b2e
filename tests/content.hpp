// What is in a file, for tests of all folders.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ddprun {

/// All bytes of a file; empty if there is none.
inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace ddprun
