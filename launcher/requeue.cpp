#include "launcher/requeue.hpp"

#include "launcher/text_of_count.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <csignal>

namespace ddprun {
namespace {

constexpr int run_again = static_cast<int>(ExitStatus::run_again);

}  // namespace

bool may_be_preempted(const Outcome& outcome) {
  return outcome.exit_status == 128 + SIGTERM && !outcome.failure;
}

Outcome preempted_outcome() {
  return {run_again,
          "stopped by SIGTERM, since Slurm needs the nodes for another job; what was saved is "
          "kept: run again",
          {}};
}

bool may_be_requeued(const Outcome& outcome, int requeues_max) {
  return outcome.exit_status == run_again && requeues_max > 0;
}

RequeuePlan plan_requeue(const Outcome& outcome,
                         int requeues_max,
                         const SlurmControl& slurm,
                         const std::optional<SlurmState>& state) {
  if (!may_be_requeued(outcome, requeues_max)) return {};
  const std::int64_t restarts = state ? state->restarts_count : slurm.restarts_count;
  if (state && state->is_ended) {
    return {false,
            fmt::format("Slurm job {} was cancelled, or its time is over: it is not queued again",
                        slurm.job)};
  }
  if (restarts >= requeues_max) {
    return {false,
            fmt::format("Slurm job {} was queued again {} already, as often as --requeue allows",
                        slurm.job,
                        text_of_count(restarts, "time"))};
  }
  if (slurm.requeue.executable.empty()) {
    return {
        false,
        fmt::format("cannot queue Slurm job {} again: there is no scontrol on PATH; add the folder "
                    "of Slurm's commands",
                    slurm.job)};
  }
  return {true,
          fmt::format("queueing Slurm job {} again, {} of at most {} times",
                      slurm.job,
                      restarts + 1,
                      requeues_max)};
}

}  // namespace ddprun
