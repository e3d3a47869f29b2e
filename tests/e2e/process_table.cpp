#include "tests/e2e/process_table.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace e2e {
namespace {

/// As much as there is: the process may end while its files are read.
std::string content_of(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

std::filesystem::path proc(int pid) {
  return std::filesystem::path("/proc") / std::to_string(pid);
}

/// The environment with which the process runs, as NAME=value\0…; a process in the middle of an
/// exec() shows neither variables nor arguments for a moment, and is looked at again.
std::string environment_of(int pid) {
  constexpr int looks = 10'000;  // no exec() takes as long; some program may run without both
  for (int look = 0; look < looks; ++look) {
    std::string variables = content_of(proc(pid) / "environ");
    if (!variables.empty() || !content_of(proc(pid) / "cmdline").empty()) return variables;
    std::error_code ended;  // zombies and the kernel's threads have no program
    const std::filesystem::path program = std::filesystem::read_symlink(proc(pid) / "exe", ended);
    if (program.empty()) return {};
    sched_yield();
  }
  return {};
}

}  // namespace

std::vector<int> all_processes() {
  std::vector<int> pids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    int pid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong == std::errc{} && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

std::vector<int> processes_marked(const std::string& mark) {
  std::vector<int> pids = all_processes();
  std::erase_if(pids, [&](int pid) {
    const std::string variables = '\0' + environment_of(pid);
    return variables.find('\0' + mark + '\0') == std::string::npos;
  });
  return pids;
}

std::string description_of(const std::vector<int>& pids) {
  std::string text;
  for (const int pid : pids) {
    std::string command = content_of(proc(pid) / "cmdline");
    std::ranges::replace(command, '\0', ' ');
    text += "pid " + std::to_string(pid) + " (" + state_of(pid) + "): " + command + "\n";
  }
  return text;
}

std::vector<int> children_of(int pid) {
  std::vector<int> children;
  std::error_code error;
  using Folder = std::filesystem::directory_iterator;
  for (Folder task(proc(pid) / "task", error); !error && task != Folder(); task.increment(error)) {
    std::ifstream list(task->path() / "children");
    for (int child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

char state_of(int pid) {
  const std::string stat = content_of(proc(pid) / "stat");
  const std::size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos ? ' ' : stat[name_end + 2];
}

}  // namespace e2e
