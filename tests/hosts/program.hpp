// A program on a pretended host.
#pragma once

#include "tests/hosts/system.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hosts {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

/// The namespaces of one host. A process is in all of them or in none.
struct Place {
  Fd network;
  Fd names;
  Fd mounts;
  Fd processes;
};

/// Starts it with the place's processes; the new process still has to enter the rest. As fork().
[[nodiscard]] int fork_into(const Place& place);
void enter_rest(const Place& place);

struct ProgramSetup {
  Words words;      ///< The first one is looked for in PATH.
  Words variables;  ///< NAME=value
  std::filesystem::path folder;
  std::string output;  ///< Files in `folder`, with the endings .out and .err.
  std::chrono::steady_clock::time_point deadline;
};

class Program {
 public:
  Program(const Place& place, ProgramSetup setup);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Its number outside of the host.
  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] std::string out() const;
  [[nodiscard]] std::string err() const;
  [[nodiscard]] std::string description() const;

  void send(int signal) const;
  void kill() const;
  /// Returns when it stands still.
  void stop() const;
  void cont() const;

  [[nodiscard]] bool ended() { return take_end(std::chrono::milliseconds(0)); }
  /// Its status as a shell shows it; throws at the deadline.
  int wait();
  /// The same for one that was killed, without a deadline.
  void reap();
  /// Of one that has ended.
  [[nodiscard]] int status() const { return status_.value(); }

 private:
  bool take_end(std::chrono::milliseconds patience);

  ProgramSetup setup_;
  int pid_ = -1;
  Fd pid_fd_;
  std::optional<int> status_;
};

/// SIGSTOP to any process; returns when it stands still, throws if it does not by then.
void stop_process(int pid, std::chrono::steady_clock::time_point deadline);

}  // namespace hosts
