// How many GPUs the steps of a batch script's agents request. Pure.
//
// A step of one task on one node gets the job's GPUs there, if the job has requested GPUs per
// node. If it has requested GPUs in all, or per task, Slurm 22.05 applies that option to the step:
// it refuses the step, or gives it the GPUs of one task. Then the step must request a number.
#pragma once

#include "launcher/text/environment.hpp"
#include "rendezvous/result.hpp"

#include <cstddef>
#include <vector>

namespace ddprun {

/// For each of the job's nodes all GPUs that the job has there; empty where no step need ask. An
/// error where Slurm's variables do not tell how many these are.
[[nodiscard]] Result<std::vector<int>> gpus_of_steps(const Environment& environment,
                                                     std::size_t node_count);

}  // namespace ddprun
