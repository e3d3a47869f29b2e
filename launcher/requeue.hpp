// Whether a job of Slurm that has ended goes back into the queue. Pure.
#pragma once

#include "launcher/slurm_control.hpp"
#include "rendezvous/outcome.hpp"

#include <optional>
#include <string>

namespace ddprun {

/// Whether what Slurm says of the job may change how it has ended, or what follows.
[[nodiscard]] bool depends_on_state(const Outcome& outcome, int requeues_max);

struct RequeuePlan {
  Outcome outcome;   ///< Another one where it was Slurm that needed the nodes.
  bool go = false;   ///< Run `SlurmControl::requeue`.
  std::string note;  ///< For people; empty: it was not asked for, or not with such a status.
  friend bool operator==(const RequeuePlan&, const RequeuePlan&) = default;
};

/// Only with the status that says "run again", no more than `requeues_max` times in the life of the
/// job, and not against the will of whoever has cancelled it. Slurm sends SIGTERM to a job that it
/// preempts, as scancel does, and does not queue one again that then ends by itself. Without
/// `state` what the job's environment says has to do.
[[nodiscard]] RequeuePlan plan_requeue(Outcome outcome,
                                       int requeues_max,
                                       const SlurmControl& slurm,
                                       const std::optional<SlurmState>& state);

}  // namespace ddprun
