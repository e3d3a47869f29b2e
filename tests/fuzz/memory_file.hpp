// A file for parsers that take a path: in memory, without a name in any folder, always the same
// descriptor, so that a fuzzer makes thousands a second.
#pragma once

#include "tests/fuzz/target.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace ddprun::fuzz {

/// The path of a file with these bytes and no others. The next call overwrites it.
inline std::filesystem::path memory_file(std::string_view bytes) {
  static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  const bool is_written =
      file >= 0 && ::ftruncate(file, 0) == 0 &&
      ::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  require(is_written, "this machine has files in memory");
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace ddprun::fuzz
