// Whether a job of Slurm that has ended goes back into the queue. Pure.
#pragma once

#include "launcher/slurm_control.hpp"
#include "rendezvous/outcome.hpp"

#include <string>

namespace ddprun {

/// Whether Slurm may have asked for such an end to give the nodes to another job: it sends SIGTERM
/// for that, as scancel does, and does not queue a job again that then ends by itself.
[[nodiscard]] bool may_be_preempted(const Outcome& outcome);

/// Of a job for which that is so.
[[nodiscard]] Outcome preempted_outcome();

struct RequeuePlan {
  bool go = false;   ///< Run `SlurmControl::requeue`.
  std::string note;  ///< For people; empty: it was not asked for, or not with such a status.
  friend bool operator==(const RequeuePlan&, const RequeuePlan&) = default;
};

/// Only with the status that says "run again", and no more than `requeues_max` times in the life of
/// the job.
[[nodiscard]] RequeuePlan plan_requeue(int exit_status,
                                       int requeues_max,
                                       const SlurmControl& slurm);

}  // namespace ddprun
