#include "launcher/requeue.hpp"

#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace ddprun {
namespace {

constexpr int run_again = static_cast<int>(ExitStatus::run_again);

bool may_be_preempted(const Outcome& outcome) {
  return outcome.exit_status == 128 + SIGTERM && !outcome.failure;
}

}  // namespace

bool depends_on_state(const Outcome& outcome, int requeues_max) {
  return may_be_preempted(outcome) || (outcome.exit_status == run_again && requeues_max > 0);
}

RequeuePlan plan_requeue(Outcome outcome,
                         int requeues_max,
                         const SlurmControl& slurm,
                         const std::optional<SlurmState>& state) {
  if (may_be_preempted(outcome) && state && state->preempted && !state->cancelled) {
    outcome = {run_again,
               "stopped by SIGTERM, since Slurm needs the nodes for another job; what was saved "
               "is kept: run again",
               {}};
  }
  RequeuePlan plan{std::move(outcome), false, {}};
  if (plan.outcome.exit_status != run_again || requeues_max == 0) return plan;
  const std::int64_t restarts = state ? state->restarts_count : slurm.restarts_count;
  if (state && state->cancelled) {
    plan.note = fmt::format("Slurm job {} was cancelled, and is not queued again", slurm.job);
  } else if (restarts >= requeues_max) {
    plan.note =
        fmt::format("Slurm job {} was queued again {} time{} already, as often as --requeue allows",
                    slurm.job,
                    restarts,
                    restarts == 1 ? "" : "s");
  } else if (slurm.requeue.executable.empty()) {
    plan.note =
        fmt::format("cannot queue Slurm job {} again: there is no scontrol on PATH", slurm.job);
  } else {
    plan.go = true;
    plan.note = fmt::format("queueing Slurm job {} again, {} of at most {} times",
                            slurm.job,
                            restarts + 1,
                            requeues_max);
  }
  return plan;
}

}  // namespace ddprun
