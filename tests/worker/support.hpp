// What several tests of the worker runtime need: a folder that goes away, the text of an error,
// ranks as threads, and Python.
#pragma once

#include "worker/context.hpp"
#include "worker/process_group.hpp"

#include <torch/csrc/distributed/c10d/HashStore.hpp>

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
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ddprun-test-XXXXXX").string();
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

/// What a Python script prints, errors included; nothing when this machine has no Python with
/// PyTorch, which is said on stdout. Tries $DDPRUN_TEST_PYTHON first, then Debian's.
inline std::optional<std::string> run_python(const TemporaryFolder& folder,
                                             const std::string& script) {
  const char* chosen = std::getenv("DDPRUN_TEST_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "/usr/bin/python3";
  const std::string quiet = " > /dev/null 2>&1";
  // A sanitizer's runtime must not be preloaded into Python.
  if (std::system(("env -u LD_PRELOAD " + python + " -c 'import torch'" + quiet).c_str()) != 0) {
    std::puts(("skipped: " + python + " cannot import torch (apt install python3-torch)").c_str());
    return std::nullopt;
  }
  write_bytes(folder / "script.py", script);
  const std::string command = "cd " + folder.path().string() + " && env -u LD_PRELOAD " + python +
                              " script.py > output.txt 2>&1";
  const int status = std::system(command.c_str());
  std::string output = read_bytes(folder / "output.txt");
  if (status != 0) output += "(status " + std::to_string(status) + ")";
  return output;
}

}  // namespace ddprun::worker::test
