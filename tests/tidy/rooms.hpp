// The rooms of the libraries: a folder each, as add_room() in its CMakeLists.txt describes it.
#pragma once

#include "tests/tidy/source.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::tidy {

struct Room {
  std::string path;                      ///< "launcher/node".
  std::string sentence;                  ///< With which its CMakeLists.txt begins, without its dot.
  std::vector<std::string> may_include;  ///< Other rooms, or a whole library.
  std::vector<std::string> pure;         ///< "agent": header and source; "job.hpp": that file.
  std::vector<std::string> shell;
  std::map<std::string, std::string> tested_by;  ///< Sources without an ending, and their tests.

  [[nodiscard]] bool is_pure(std::string_view file_path) const;
  [[nodiscard]] bool is_shell(std::string_view file_path) const;

  /// Itself, what it says, and the files in the folder of its library.
  [[nodiscard]] bool allows(std::string_view include) const;
};

/// By path.
using Rooms = std::map<std::string, Room>;

[[nodiscard]] Rooms rooms_in(const std::vector<SourceFile>& tree);

/// From the root: the worker's public headers are included as "ddprun/run.hpp".
[[nodiscard]] std::string path_of(std::string_view include);

/// "launcher/node/agent.cpp" → "launcher/node".
[[nodiscard]] std::string parent_of(std::string_view path);

/// The one that holds that file, or nothing.
[[nodiscard]] const Room* room_of(const Rooms& rooms, std::string_view path);

/// Rooms include one way: whoever follows what they say comes back to none. And each entry is
/// needed by a file.
[[nodiscard]] Findings check_rooms(const Rooms& rooms, const std::vector<SourceFile>& tree);

}  // namespace ddprun::tidy
