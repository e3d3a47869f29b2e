// Ranks with different numbers of batches: who has none left helps the others to go on, as under
// Python's DistributedDataParallel.join(). For loops of one's own and data that come as a stream;
// the sampler of a Session deals out equally many steps.
#pragma once

#include "ddprun/distributed_data_parallel.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace ddprun::worker {

class JoinedSteps;

struct JoinOptions {
  /// The sum of the gradients is divided by the number of all ranks, so that each batch counts
  /// alike; if false, by the number of ranks that have a batch in this step. Python's names and
  /// defaults.
  bool divide_by_initial_world_size = true;
  /// next() throws on all ranks as soon as the first of them has no batch and another one has.
  bool throw_on_early_termination = false;
};

/// All ranks make one step for each true of next(), each with its own batch or with shadow():
///
///     Join join(parallel);
///     while (join.next(batch.has_value())) {
///       parallel.zero_grad();
///       if (batch) loss_of(parallel(*batch)).backward();
///       else join.shadow();
///       optimizer.step();
///       batch = read_batch();
///     }
///
/// Unlike in Python each rank makes all steps of the optimizer, so that parameters stay equal and
/// nothing of them is sent at the end. A rank may have no batch at all. Buffers follow the last
/// rank that has a batch, as in Python, and after the last step all ranks have its buffers, both
/// only with broadcast_buffers. It is not for use from several threads, and the
/// DistributedDataParallel must stay where it is. A single rank sends nothing.
class Join {
 public:
  /// Throws Error if the model has a SyncBatchNorm, whose collectives shadow() cannot answer, and
  /// throw_on_early_termination is not set. Throws Error under no_sync(), which throws while a Join
  /// lives, and if another Join of `parallel` lives.
  template <typename Module>
  explicit Join(DistributedDataParallel<Module>& parallel, const JoinOptions& options = {})
      : Join(parallel.synchronizer(), *parallel.module(), options) {}
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;
  ~Join();

  /// Whether any rank has a batch; the same on all ranks. Then a step follows: one forward and one
  /// backward pass, or shadow(). After false another round may begin. Collective: one all-reduce of
  /// a byte for each rank, on the CPU. Throws Error if the step before has made no forward pass,
  /// if another rank does not call it within the group's collective_timeout or has ended, and for
  /// throw_on_early_termination.
  [[nodiscard]] bool next(bool has_batch);

  /// Takes part in the collectives of one forward and one backward pass, without a gradient of its
  /// own: it counts as zeros, or as what zero_grad() has left. Afterwards this rank has the same
  /// gradients as the others.
  void shadow() { synchronizer_.shadow(); }

 private:
  Join(GradientSynchronizer& synchronizer,
       const torch::nn::Module& module,
       const JoinOptions& options);

  GradientSynchronizer& synchronizer_;
  JoinOptions options_;
  std::shared_ptr<JoinedSteps> steps_;
  std::int64_t steps_count_ = 0;
};

}  // namespace ddprun::worker
