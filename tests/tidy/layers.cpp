#include "tests/tidy/layers.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace ddprun::tidy {
namespace {

/// Beginnings of what the files of a folder that is no room may include.
const std::map<std::string, std::vector<std::string_view>> may_include{
    {"examples", {"examples/", "ddprun/"}},
    {"bench", {"bench/", "launcher/", "rendezvous/", "ddprun/"}},
    {"tests/fuzz", {"tests/", "launcher/", "rendezvous/", "worker/", "ddprun/"}},
    {"tests/gpu", {"ddprun/"}},
    {"tests/worker", {"tests/", "worker/", "ddprun/", "examples/"}},
};
const std::vector<std::string_view> other_tests_may_include{"tests/", "launcher/", "rendezvous/"};

constexpr std::array torch_folders{"torch/", "c10/", "caffe2/", "ATen/"};
constexpr std::array torch_users{
    "worker", "examples", "bench", "tests/fuzz", "tests/gpu", "tests/worker"};

/// What the system offers that a pure file must not see.
constexpr std::array impure_headers{"chrono",
                                    "random",
                                    "thread",
                                    "mutex",
                                    "condition_variable",
                                    "future",
                                    "iostream",
                                    "cstdio",
                                    "iosfwd",
                                    "fstream",
                                    "filesystem",
                                    "boost/asio",
                                    "syncstream"};
constexpr std::array impure_words{"fmt::print",
                                  "std::cout",
                                  "std::cerr",
                                  "stdout",
                                  "stderr",
                                  "getenv",
                                  "environ",
                                  "steady_clock",
                                  "system_clock"};
/// Libraries whose headers end in .h without being the operating system's.
constexpr std::array pure_libraries{
    "fmt/", "sodium.h", "torch/", "c10/", "ATen/", "caffe2/", "doctest/"};

/// Pure, and yet allowed what others are not: an assertion ends the process with a line on stderr;
/// LibTorch's headers bring in whatever they like.
constexpr std::array excused{"rendezvous/assert.hpp", "worker/torch_compat.hpp"};

bool begins_with_any(std::string_view text, const auto& beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](std::string_view each) { return text.starts_with(each); });
}

bool in_library(std::string_view path) {
  constexpr std::array libraries{"rendezvous/", "launcher/", "worker/"};
  return begins_with_any(path, libraries) && !path.starts_with("worker/compat/");
}

bool is_impure_header(std::string_view path) {
  const bool systems = path.ends_with(".h") && !begins_with_any(path, pure_libraries);
  const auto same = [&](std::string_view header) {
    return path == header || (header == "boost/asio" && path.starts_with(header));
  };
  return systems || std::ranges::any_of(impure_headers, same);
}

}  // namespace

Findings check_layers(const SourceFile& file, const Rooms& rooms) {
  Findings findings;
  const bool is_document = file.path.starts_with("man/") || file.path.ends_with(".md");
  if (is_document) return findings;  // its programs are for others' folders
  const std::string folder = folder_of(file.path);
  const Room* room = room_of(rooms, file.path);
  const auto found = may_include.find(folder);
  const auto& allowed = found == may_include.end() ? other_tests_may_include : found->second;
  const bool torch = std::ranges::find(torch_users, folder) != torch_users.end();
  for (const Include& include : includes_of(file)) {
    const bool may =
        room != nullptr ? room->allows(include.path) : begins_with_any(include.path, allowed);
    if (include.quoted && !may) {
      findings.push_back(finding(file,
                                 include.line,
                                 "includes " + include.path +
                                     ", which is no path from the root or lies where " +
                                     parent_of(file.path) + " may not include from"));
    }
    if (!torch && begins_with_any(include.path, torch_folders)) {
      findings.push_back(finding(file, include.line, "LibTorch is for worker/ and examples/"));
    }
  }
  return findings;
}

Findings check_purity(const SourceFile& file, const Rooms& rooms) {
  Findings findings;
  const Room* room = room_of(rooms, file.path);
  const bool is_excused = std::ranges::find(excused, file.path) != excused.end();
  if (room == nullptr || !room->is_pure(file.path) || is_excused) return findings;
  for (const Include& include : includes_of(file)) {
    const std::string path = path_of(include.path);
    const Room* other = room_of(rooms, path);
    const bool is_shell = other != nullptr && other->is_shell(path);
    if (include.quoted ? is_shell : is_impure_header(include.path)) {
      findings.push_back(
          finding(file, include.line, "is pure and includes " + include.path + " of the shell"));
    }
  }
  for (const std::string_view word : impure_words) {
    const std::size_t at = find_word(file.code, word, 0);
    if (at == std::string::npos) continue;
    findings.push_back(
        finding(file, line_at(file.code, at), "is pure and says " + std::string(word)));
  }
  return findings;
}

Findings check_classification(const std::vector<SourceFile>& tree, const Rooms& rooms) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!in_library(file.path) || !is_cpp(file)) continue;
    const Room* room = room_of(rooms, file.path);
    const bool pure = room != nullptr && room->is_pure(file.path);
    const bool shell = room != nullptr && room->is_shell(file.path);
    if (pure != shell) continue;
    const std::string list = parent_of(file.path) + "/CMakeLists.txt";
    findings.push_back(finding(file,
                               1,
                               pure
                                   ? "is pure and shell in " + list + "; keep one"
                                   : "is new: put it into PURE or SHELL of add_room() in " + list));
  }
  for (const auto& each : rooms) {
    const Room& room = each.second;
    for (const auto* list : {&room.pure, &room.shell}) {
      for (const std::string& entry : *list) {
        Room alone;
        alone.pure = {entry};
        const bool is_there = std::ranges::any_of(tree, [&](const SourceFile& file) {
          return parent_of(file.path) == room.path && alone.is_pure(file.path);
        });
        if (!is_there) {
          findings.push_back(room.path + "/CMakeLists.txt: " + entry + " is not there");
        }
      }
    }
  }
  return findings;
}

Findings check_tests_exist(const std::vector<SourceFile>& tree, const Rooms& rooms) {
  Findings findings;
  std::set<std::string, std::less<>> paths;
  for (const SourceFile& file : tree) paths.insert(file.path);
  for (const SourceFile& file : tree) {
    if (!in_library(file.path) || !file.path.ends_with(".cpp")) continue;
    const std::string whole = file.path.substr(0, file.path.size() - 4);
    const std::string stem = whole.substr(whole.rfind('/') + 1);
    const bool of_worker = file.path.starts_with("worker/");
    const std::string test = (of_worker ? "tests/" : "tests/unit/") + whole + "_test.cpp";
    const Room* room = room_of(rooms, file.path);
    const bool elsewhere = room != nullptr && room->tested_by.contains(stem);
    if (paths.contains(test) == elsewhere) {
      findings.push_back(finding(
          file,
          1,
          elsewhere ? test + " is there: remove the entry of TESTED_BY" : "has no " + test));
    }
  }
  for (const auto& [path, room] : rooms) {
    for (const auto& [source, test] : room.tested_by) {
      for (const std::string& each : {path + "/" + source + ".cpp", test}) {
        if (!paths.contains(each)) {
          findings.push_back(path + "/CMakeLists.txt: " + each + " is not there");
        }
      }
    }
  }
  return findings;
}

}  // namespace ddprun::tidy
