// Whether a job of Slurm that has ended goes back into the queue. Pure.
#pragma once

#include "launcher/slurm_control.hpp"
#include "rendezvous/outcome.hpp"

#include <optional>
#include <string>

namespace ddprun {

/// Whether Slurm may have asked for such an end to give the nodes to another job: it sends SIGTERM
/// for that, as scancel does, and does not queue a job again that then ends by itself.
[[nodiscard]] bool may_be_preempted(const Outcome& outcome);

/// How a job ends that was: it is to be run again.
[[nodiscard]] Outcome preempted_outcome();

/// Whether it is to be queued again, unless Slurm says that it is over.
[[nodiscard]] bool may_be_requeued(const Outcome& outcome, int requeues_max);

struct RequeuePlan {
  bool go = false;   ///< Run `SlurmControl::requeue`.
  std::string note;  ///< For people; empty: it was not asked for, or not with such a status.
  friend bool operator==(const RequeuePlan&, const RequeuePlan&) = default;
};

/// Only with the status that says "run again", no more than `requeues_max` times in the life of the
/// job, and not one that Slurm ends, which may be the will of whoever has cancelled it. Without
/// `state` what the job's environment says has to do.
[[nodiscard]] RequeuePlan plan_requeue(const Outcome& outcome,
                                       int requeues_max,
                                       const SlurmControl& slurm,
                                       const std::optional<SlurmState>& state);

}  // namespace ddprun
