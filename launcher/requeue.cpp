#include "launcher/requeue.hpp"

#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <csignal>

namespace ddprun {

bool may_be_preempted(const Outcome& outcome) {
  return outcome.exit_status == 128 + SIGTERM && !outcome.failure;
}

Outcome preempted_outcome() {
  return {static_cast<int>(ExitStatus::run_again),
          "stopped by SIGTERM, since Slurm needs the nodes for another job; what was saved is "
          "kept: run again",
          {}};
}

RequeuePlan plan_requeue(int exit_status, int requeues_max, const SlurmControl& slurm) {
  const bool can_go_on = exit_status == static_cast<int>(ExitStatus::run_again);
  if (!can_go_on || requeues_max == 0) return {};
  if (slurm.restarts_count >= requeues_max) {
    return {false,
            fmt::format("Slurm job {} was queued again {} times already, as often as --requeue "
                        "allows",
                        slurm.job,
                        slurm.restarts_count)};
  }
  if (slurm.requeue.executable.empty()) {
    return {
        false,
        fmt::format("cannot queue Slurm job {} again: there is no scontrol on PATH", slurm.job)};
  }
  return {true,
          fmt::format("queueing Slurm job {} again, {} of at most {} times",
                      slurm.job,
                      slurm.restarts_count + 1,
                      requeues_max)};
}

}  // namespace ddprun
