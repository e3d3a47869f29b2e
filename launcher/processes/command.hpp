// A command: a program and its arguments.
#pragma once

#include "launcher/text/environment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

struct Command {
  std::string executable;              ///< A path, found and executable when it was looked for.
  std::vector<std::string> arguments;  ///< argv, its first element included.
  bool is_local = false;               ///< See is_local_program.
  friend bool operator==(const Command&, const Command&) = default;
};

[[nodiscard]] bool is_executable_file(const std::string& path);

/// Whether executing it waits for no other machine: it is a binary on a disk of this machine or in
/// its memory, and so is each folder and link on the way. False where that is not known, as of
/// overlays, and of scripts, whose interpreter may lie anywhere.
[[nodiscard]] bool is_local_program(const std::string& path);

/// Which folders of PATH count: relative ones lead to whatever the current folder holds.
enum class PathFolders : std::uint8_t { all, absolute };

/// The folders that count where PATH is not set.
constexpr const char* default_path = "/usr/local/bin:/usr/bin:/bin";

/// The first executable of that name in those folders of PATH, or empty.
[[nodiscard]] std::string find_on_path(const std::string& name,
                                       const Environment& environment,
                                       PathFolders which = PathFolders::all);

}  // namespace ddprun
