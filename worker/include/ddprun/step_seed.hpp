// Randomness that a restart repeats. If generators ran through all steps, each snapshot would need
// every rank's state, which would be useless for a job of another size. Here each step
// seeds its generators from seed, step and rank, so there is no state to save: the numbers that
// dropout draws in step 40 on rank 1 are the same whether the job ran up to there or restarted in
// step 39.
#pragma once

#include <cstdint>

namespace ddprun::worker {

struct StepSeed {
  std::uint64_t seed = 0;  ///< Of the job, the same on all ranks and at each start.
  std::int64_t step = 0;   ///< Optimizer steps since training began; Position::step.
  int rank = 0;            ///< Ranks draw different numbers.
};

/// Makes all that this process draws from LibTorch's own generators, on the CPU and on GPUs, a
/// function of `place` until the next call. For the beginning of each step.
void seed_generators(const StepSeed& place);

}  // namespace ddprun::worker
