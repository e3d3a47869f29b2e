// How a worker ended, as a value and as text.
#pragma once

#include "rendezvous/units.hpp"

#include <cstdint>
#include <string>

namespace ddprun {

struct WorkerEnd {
  enum class Kind : std::uint8_t {
    exited,
    killed,
    not_executed,  ///< The process was there, the program was not.
    not_started,   ///< The system refused the process.
    hung,          ///< The process lives, and has told nothing for too long.
  };
  Kind kind = Kind::exited;
  int code = 0;  ///< Exit status, signal number, errno or milliseconds of silence, by kind.
  friend bool operator==(const WorkerEnd&, const WorkerEnd&) = default;

  [[nodiscard]] bool success() const { return kind == Kind::exited && code == 0; }
};

/// Of this node.
struct WorkerEnded {
  LocalRank local_rank;
  int pid = 0;
  WorkerEnd end;
  friend bool operator==(const WorkerEnded&, const WorkerEnded&) = default;
};

struct WorkerFailure {
  std::string host;
  Rank rank;
  LocalRank local_rank;
  int pid = 0;  ///< Of a worker that was started.
  WorkerEnd end;
  friend bool operator==(const WorkerFailure&, const WorkerFailure&) = default;
};

/// "SIGKILL (9)".
[[nodiscard]] std::string signal_name(int signal);

/// "rank 1 (pid 4242 on n1) was killed by SIGKILL (9)".
[[nodiscard]] std::string describe(const WorkerFailure& failure);

/// As a shell would report it: the status, 128 + signal, 127 for a missing program, 126 for another
/// that cannot be executed; 71 (the system refused) if there was no process; 124, as timeout(1)
/// ends, if it hung.
[[nodiscard]] int exit_status_of(const WorkerEnd& end);

}  // namespace ddprun
