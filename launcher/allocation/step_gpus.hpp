// How many GPUs the steps of a batch script's agents ask for. Pure.
//
// A step of one task on one node is given the job's GPUs there, if the job has asked for so many a
// node. If it has asked for so many in all, or a task, Slurm 22.05 takes that for the step's own
// wish: it refuses the step, or gives it the GPUs of one task. Then the step has to say a number.
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
