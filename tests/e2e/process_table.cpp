#include "tests/e2e/process_table.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace e2e {
namespace {

std::filesystem::path proc(int pid) {
  return std::filesystem::path("/proc") / std::to_string(pid);
}

/// The environment with which the process runs, as NAME=value\0…; a process in the middle of an
/// exec() shows neither variables nor arguments for a moment, and is looked at again.
std::string environment_of(int pid) {
  constexpr int looks = 10'000;  // no exec() takes as long; some program may run without both
  for (int look = 0; look < looks; ++look) {
    std::string variables = file_of(pid, "environ");
    if (!variables.empty() || !file_of(pid, "cmdline").empty()) return variables;
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
    std::string command = file_of(pid, "cmdline");
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

std::string file_of(int pid, const std::string& name) {
  std::ostringstream content;
  content << std::ifstream(proc(pid) / name, std::ios::binary).rdbuf();
  return content.str();
}

char state_of(int pid) {
  const std::string stat = file_of(pid, "stat");
  const std::size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos ? ' ' : stat[name_end + 2];
}

std::size_t memory_max_of(int pid) {
  std::istringstream status(file_of(pid, "status"));
  std::size_t kilobytes = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> kilobytes;
  }
  return kilobytes;
}

std::chrono::milliseconds processor_time_of(int pid) {
  const std::string stat = file_of(pid, "stat");
  std::istringstream fields(stat.substr(stat.rfind(") ") + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  long user_ticks = 0;
  long system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  return std::chrono::milliseconds((user_ticks + system_ticks) * 1000 / ::sysconf(_SC_CLK_TCK));
}

}  // namespace e2e
