// Randomness that a restart repeats. Were generators left to run on, the state of every rank's
// would belong into each snapshot, and would mean nothing to a job of another size. Here each step
// begins with generators that follow from where it stands, so that there is no state to save: what
// dropout draws in step 40 on rank 1 is the same whether the job has run there or was restarted in
// step 39.
#pragma once

#include <cstdint>

namespace ddprun::worker {

struct StepSeed {
  std::uint64_t seed = 0;  ///< Of the job, the same on all ranks and at each start.
  std::int64_t step = 0;   ///< Optimizer steps since training began; Snapshot::step.
  int rank = 0;            ///< Ranks draw different numbers.
};

/// Makes all that this process draws from LibTorch's own generators, on the CPU and on GPUs, a
/// function of `place` until the next call. For the beginning of each step.
void seed_generators(const StepSeed& place);

}  // namespace ddprun::worker
