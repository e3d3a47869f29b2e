#include "tests/tidy/rooms.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

namespace ddprun::tidy {
namespace {

bool lies_in(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

/// Whether an entry of a room's lists stands for the file at `path`, by its name.
bool names(std::string_view entry, std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (entry.find('.') != std::string_view::npos) return entry == name;
  const std::size_t dot = name.rfind('.');
  return entry == name.substr(0, dot) && dot != std::string_view::npos;
}

bool named(const std::vector<std::string>& list, std::string_view path) {
  return std::ranges::any_of(list, [&](const std::string& entry) { return names(entry, path); });
}

/// "# What it holds.\nadd_room(…" → "What it holds".
std::string sentence_of(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (!line.starts_with("# ") || !line.ends_with('.')) return {};
  return std::string(line.substr(2, line.size() - 3));
}

/// The words between the brackets of add_room(), the target first.
std::vector<std::string> words_of_room(std::string_view text) {
  constexpr std::string_view call = "\nadd_room(";
  const std::size_t at = text.find(call);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + call.size();
  std::istringstream inside(std::string(text.substr(begin, text.find(')', begin) - begin)));
  std::vector<std::string> words;
  for (std::string word; inside >> word;) words.push_back(word);
  return words;
}

Room room_from(std::string path, const std::vector<std::string>& words) {
  Room room;
  room.path = std::move(path);
  std::string list;
  std::string tested;
  for (const std::string& word : words) {
    if (std::ranges::all_of(word, [](char c) { return c == '_' || (c >= 'A' && c <= 'Z'); })) {
      list = word;
    } else if (list == "MAY_INCLUDE") {
      room.may_include.push_back(word);
    } else if (list == "PURE") {
      room.pure.push_back(word);
    } else if (list == "SHELL") {
      room.shell.push_back(word);
    } else if (list == "TESTED_BY") {
      if (tested.empty()) {
        tested = word;
      } else {
        room.tested_by[std::exchange(tested, {})] = word;
      }
    }
  }
  return room;
}

bool reaches(const Rooms& rooms,
             const std::string& from,
             const std::string& goal,
             std::set<std::string>& seen) {
  const auto room = rooms.find(from);
  if (room == rooms.end()) return false;
  for (const std::string& next : room->second.may_include) {
    if (next == goal) return true;
    if (seen.insert(next).second && reaches(rooms, next, goal, seen)) return true;
  }
  return false;
}

bool is_needed(const Room& room, const std::string& entry, const std::vector<SourceFile>& tree) {
  return std::ranges::any_of(tree, [&](const SourceFile& file) {
    if (parent_of(file.path) != room.path || !is_cpp(file)) return false;
    return std::ranges::any_of(includes_of(file), [&](const Include& include) {
      return include.quoted && lies_in(path_of(include.path), entry);
    });
  });
}

}  // namespace

bool Room::is_pure(std::string_view file_path) const {
  return named(pure, file_path);
}
bool Room::is_shell(std::string_view file_path) const {
  return named(shell, file_path);
}

bool Room::allows(std::string_view include) const {
  const std::string parent = parent_of(path_of(include));
  const std::string library = path.substr(0, path.find('/'));
  if (parent == path || parent == library) return true;
  const bool sees_folders = library != "worker";  // of a library that its room names
  return std::ranges::any_of(may_include, [&](const std::string& entry) {
    const bool is_library = entry.find('/') == std::string::npos;
    return parent == entry || (sees_folders && is_library && lies_in(include, entry));
  });
}

std::string path_of(std::string_view include) {
  return (include.starts_with("ddprun/") ? "worker/include/" : "") + std::string(include);
}

std::string parent_of(std::string_view path) {
  return std::string(path.substr(0, std::min(path.rfind('/'), path.size())));
}

Rooms rooms_in(const std::vector<SourceFile>& tree) {
  Rooms rooms;
  for (const SourceFile& file : tree) {
    if (!file.path.ends_with("/CMakeLists.txt")) continue;
    const std::vector<std::string> words = words_of_room(file.text);
    const std::string path = parent_of(file.path);
    if (words.empty()) continue;
    rooms[path] = room_from(path, words);
    rooms[path].sentence = sentence_of(file.text);
  }
  return rooms;
}

const Room* room_of(const Rooms& rooms, std::string_view path) {
  const auto found = rooms.find(parent_of(path));
  return found == rooms.end() ? nullptr : &found->second;
}

Findings check_rooms(const Rooms& rooms, const std::vector<SourceFile>& tree) {
  Findings findings;
  for (const auto& [path, room] : rooms) {
    const std::string where = path + "/CMakeLists.txt: ";
    std::set<std::string> seen;
    if (reaches(rooms, path, path, seen)) {
      findings.push_back(where + "what it may include leads back to it");
    }
    for (const std::string& entry : room.may_include) {
      if (!is_needed(room, entry, tree)) {
        findings.push_back(where + "includes nothing of " + entry + ", and so need not");
      }
    }
  }
  return findings;
}

}  // namespace ddprun::tidy
