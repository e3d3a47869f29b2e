// What /proc says of the processes of one run.
#pragma once

#include <string>
#include <vector>

namespace e2e {

/// Zombies included.
[[nodiscard]] std::vector<int> all_processes();

/// The living processes in whose environment `NAME=value` stands as `mark`.
[[nodiscard]] std::vector<int> processes_marked(const std::string& mark);

/// "pid 7: sleep 100", for messages.
[[nodiscard]] std::string description_of(const std::vector<int>& pids);

[[nodiscard]] std::vector<int> children_of(int pid);

/// The letter that ps shows: R, S, T, Z...; a blank when there is no such process.
[[nodiscard]] char state_of(int pid);

/// Neither running nor a zombie that somebody has to reap.
[[nodiscard]] inline bool is_gone(int pid) {
  return state_of(pid) == ' ';
}

}  // namespace e2e
