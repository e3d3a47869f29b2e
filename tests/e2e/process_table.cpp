#include "tests/e2e/process_table.hpp"

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

}  // namespace

std::vector<int> processes_marked(const std::string& mark) {
  std::vector<int> pids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    int pid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc{} || end != name.data() + name.size()) continue;
    const std::string variables = '\0' + content_of(entry.path() / "environ");
    if (variables.find('\0' + mark + '\0') != std::string::npos) pids.push_back(pid);
  }
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
