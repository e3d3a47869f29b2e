// What several tests of the worker runtime need: a folder that goes away, the text of an error,
// ranks as threads, and Python.
#pragma once

#include "ddprun/context.hpp"
#include "ddprun/process_group.hpp"

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ddprun::worker::test {

/// A new folder of this test's own, removed with all it holds at the end.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string pattern = (parent / "ddprun-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// The names of the files in it, sorted.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(path_)) {
      names.push_back(each.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

/// Of a single rank whose snapshots lie in `folder`.
inline Context context_in(const TemporaryFolder& folder) {
  Context context;
  context.snapshot = folder / "snapshot.pt";
  return context;
}

/// The text of the exception that `action` throws, empty when it throws none.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Runs `body` as `world_size` ranks, each a thread, that meet in one store; returns when all have
/// ended and throws what the first of them threw.
inline void run_ranks(
    int world_size,
    const std::function<void(const Context& context, const ProcessGroup& group)>& body) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(world_size));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        Context context;
        context.rank = context.local_rank = rank;
        context.world_size = context.local_world_size = world_size;
        const ProcessGroupOptions options{.store_timeout = std::chrono::seconds(30),
                                          .collective_timeout = std::chrono::seconds(30)};
        body(context, ProcessGroup(store, context, options));
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& each : ranks) each.join();
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

struct CommandResult {
  int status;  ///< As a shell shows it.
  std::string output;
  std::string error;
};

/// Runs a shell command in `folder`, to its end.
inline CommandResult run_command(const TemporaryFolder& folder, const std::string& command) {
  const int status = std::system(("cd " + folder.path().string() + " && (" + command +
                                  ") > stdout.txt 2> stderr.txt < /dev/null")
                                     .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          read_bytes(folder / "stdout.txt"),
          read_bytes(folder / "stderr.txt")};
}

/// The processes that have `folder` as their working folder, which none of a job may outlive.
inline std::vector<std::string> processes_in(const TemporaryFolder& folder) {
  std::vector<std::string> found;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::error_code unreadable;  // it has ended, or is no process
    if (std::filesystem::read_symlink(process.path() / "cwd", unreadable) != folder.path())
      continue;
    found.push_back(read_bytes(process.path() / "comm"));
  }
  return found;
}

/// What a Python script prints, errors included; nothing when this machine has no Python with
/// PyTorch, which is said on stdout. Tries $TEST_PYTHON first, then Debian's.
inline std::optional<std::string> run_python(const TemporaryFolder& folder,
                                             const std::string& script) {
  const char* chosen = std::getenv("TEST_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "/usr/bin/python3";
  write_bytes(folder / "script.py", "try: import torch\nexcept ImportError: exit(77)\n" + script);
  // A sanitizer's runtime must not be preloaded into Python.
  const CommandResult ran = run_command(folder, "env -u LD_PRELOAD " + python + " script.py 2>&1");
  if (ran.status == 77 || ran.status == 127) {
    std::puts(("skipped: " + python + " cannot import torch (apt install python3-torch)").c_str());
    return std::nullopt;
  }
  if (ran.status == 0) return ran.output;
  return ran.output + "(status " + std::to_string(ran.status) + ")";
}

}  // namespace ddprun::worker::test
