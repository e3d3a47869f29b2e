// What /proc says of the processes of one run.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace e2e {

/// Zombies included.
[[nodiscard]] std::vector<int> all_processes();

/// The living processes in whose environment `NAME=value` stands as `mark`.
[[nodiscard]] std::vector<int> processes_marked(const std::string& mark);

/// "pid 7: sleep 100", for messages.
[[nodiscard]] std::string description_of(const std::vector<int>& pids);

/// /proc/PID/`name`, as much as there is: a process may end while its files are read.
[[nodiscard]] std::string file_of(int pid, const std::string& name);

[[nodiscard]] std::vector<int> children_of(int pid);

/// The letter that ps shows: R, S, T, Z...; a blank when there is no such process.
[[nodiscard]] char state_of(int pid);

/// The most memory that a process has ever had resident, in kB.
[[nodiscard]] std::size_t memory_max_of(int pid);

/// The processor time that a process has taken, to the system's 10 ms.
[[nodiscard]] std::chrono::milliseconds processor_time_of(int pid);

/// Neither running nor a zombie that somebody has to reap.
[[nodiscard]] inline bool is_gone(int pid) {
  return state_of(pid) == ' ';
}

}  // namespace e2e
