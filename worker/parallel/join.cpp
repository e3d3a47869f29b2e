#include "ddprun/join.hpp"

#include "ddprun/error.hpp"
#include "ddprun/sync_batch_norm.hpp"
#include "worker/parallel/joined_steps.hpp"

#include <exception>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

void require_no_sync_batch_norm(const torch::nn::Module& module) {
  for (const auto& part : module.named_modules()) {
    if (part.value()->as<SyncBatchNormImpl>() == nullptr) continue;
    throw Error(text("a Join of a model with the SyncBatchNorm ",
                     part.key(),
                     ": a rank without a batch cannot take part in its collectives; use BatchNorm, "
                     "or set throw_on_early_termination"));
  }
}

/// For each rank 1 if it has a batch.
torch::Tensor who_has_a_batch(bool has_batch, const ProcessGroup& group) {
  const torch::Tensor flags = torch::zeros({group.size()}, torch::kByte);
  flags[group.rank()] = has_batch ? 1 : 0;
  try {
    group.all_reduce_sum(flags);
  } catch (const std::exception& error) {
    throw Error(text("the ranks could not agree on whether one of them has a batch: ",
                     error.what(),
                     "; each rank has to call next() until it returns false, and between two calls "
                     "to make one forward and one backward pass, or shadow()"));
  }
  return flags;
}

}  // namespace

Join::Join(GradientSynchronizer& synchronizer,
           const torch::nn::Module& module,
           const JoinOptions& options)
    : synchronizer_(synchronizer), options_(options), steps_(std::make_shared<JoinedSteps>()) {
  if (synchronizer.is_joined()) {
    throw Error("a second Join of one DistributedDataParallel; end the life of the first one");
  }
  if (synchronizer.is_static()) {
    throw Error(
        "a Join of a DistributedDataParallel with static_graph: the graph would change when a rank "
        "has no batch; set find_unused_parameters instead, or neither");
  }
  if (!synchronizer.is_synchronising()) throw Error("a Join under no_sync(); make it outside");
  if (synchronizer.group().size() > 1 && !options.throw_on_early_termination) {
    require_no_sync_batch_norm(module);
  }
  synchronizer.follow(steps_);
}

Join::~Join() {
  synchronizer_.follow(nullptr);
}

bool Join::next(bool has_batch) {
  const ProcessGroup& group = synchronizer_.group();
  if (group.size() == 1) return has_batch;
  steps_->end();
  const torch::Tensor flags = who_has_a_batch(has_batch, group);
  const int having_count = flags.sum().item<int>();
  if (having_count == 0) {
    if (synchronizer_.shares_buffers()) synchronizer_.broadcast_buffers();
    return false;
  }
  if (options_.throw_on_early_termination && having_count < group.size()) {
    throw Error(
        text("rank ",
             flags.argmin().item<int>(),
             " has no batch for step ",
             steps_count_,
             " of a Join, and ",
             having_count == 1 ? text("another one has") : text(having_count, " others have"),
             "; give all ranks equally many, or leave out "
             "throw_on_early_termination"));
  }
  ++steps_count_;
  steps_->begin({.buffers_from = group.size() - 1 - flags.flip(0).argmax().item<int>(),
                 .divisor = options_.divide_by_initial_world_size ? group.size() : having_count});
  return true;
}

}  // namespace ddprun::worker
