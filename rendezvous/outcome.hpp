// How a job ended, and the exit status of all its processes.
#pragma once

#include "rendezvous/worker_end.hpp"

#include <optional>
#include <string>

namespace ddprun {

struct Outcome {
  int exit_status = 0;
  std::string text;  ///< "rank 1 (pid 7 on n1) exited with 3, after 2 of 2 restarts"
  std::optional<WorkerFailure> failure;
  bool everywhere = false;  ///< The coordinator led when it said so: nobody can go on elsewhere.
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

}  // namespace ddprun
