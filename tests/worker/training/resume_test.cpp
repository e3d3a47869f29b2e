// Training that was stopped and resumed is compared with training that never stopped.
#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/distributed_sampler.hpp"
#include "ddprun/error.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/snapshot_store.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

namespace ddprun::worker {
namespace {

using test::TemporaryFolder;
using torch::Tensor;
namespace nn = torch::nn;

constexpr std::int64_t samples_count =
    70;  // not a multiple of ranks × batch: the last one is short
constexpr std::int64_t rank_batch_size = 8;
constexpr std::int64_t epochs_count = 3;

/// Trains from where the snapshots stand to the end, or until `stop_at_step`; then saves and gives
/// back the parameters of rank 0.
Tensor train(const std::filesystem::path& path, int world_size, std::int64_t stop_at_step) {
  Tensor result;
  test::run_ranks(world_size, [&](Context context, const ProcessGroup& group) {
    context.snapshot = path;
    auto generator = at::detail::createCPUGenerator(5);
    const Tensor inputs = at::randn({samples_count, 6}, generator);
    const Tensor targets = inputs.sin().sum(1, true);
    nn::Sequential net(nn::Linear(6, 16), nn::Tanh(), nn::Linear(16, 1));
    for (auto& parameter : net->parameters()) {
      torch::NoGradGuard no_grad;
      parameter.copy_(torch::linspace(-0.3, 0.3, parameter.numel()).view_as(parameter));
    }
    torch::optim::Adam optimizer(net->parameters(), 0.01);
    SnapshotStore snapshots(context, group);
    Snapshot training;
    if (auto snapshot = snapshots.load()) {
      load_state_dict(*net, snapshot->model_state);
      load_optimizer_state(optimizer, snapshot->optimizer_state);
      training = *std::move(snapshot);
    }
    Position& position = training.position;
    const auto order = std::make_shared<GradientOrder>(training.gradient_order);
    DistributedDataParallelOptions options;
    options.gradient_order = order;
    options.first_bucket_bytes = options.bucket_bytes = 100;  // for several of them
    DistributedDataParallel<nn::Sequential> parallel(net, group, options);
    const DistributedSampler sampler(samples_count, context.rank, world_size);
    while (position.epoch < epochs_count && position.step < stop_at_step) {
      const Tensor indices = torch::tensor(sampler.indices(position.epoch, position.samples));
      for (const Tensor& batch : indices.split(rank_batch_size)) {
        if (position.step == stop_at_step) break;
        parallel.zero_grad();
        const Tensor output = parallel(inputs.index_select(0, batch));
        torch::mse_loss(output, targets.index_select(0, batch)).backward();
        optimizer.step();
        ++position.step;
        position.samples += batch.numel() * world_size;
      }
      if (position.samples < samples_count) break;
      ++position.epoch;
      position.samples = 0;
    }
    training.model_state = state_dict(*net);
    training.optimizer_state = optimizer_state(optimizer);
    training.gradient_order = *order;
    snapshots.save(training);
    if (context.rank != 0) return;
    std::vector<Tensor> parts;
    for (const auto& parameter : net->parameters()) parts.push_back(parameter.detach().flatten());
    result = torch::cat(parts);
  });
  return result;
}

TEST_CASE("resume: stopping after any step changes no bit of the result") {
  constexpr std::int64_t never = 1'000;
  for (const int world_size : {1, 2, 3, 4}) {
    const TemporaryFolder undisturbed;
    const Tensor expected = train(undisturbed / "snapshot.pt", world_size, never);
    const TemporaryFolder disturbed;
    for (std::int64_t step = 1; step < 27; step += 4) {
      train(disturbed / "snapshot.pt", world_size, step);
    }
    CHECK(torch::equal(train(disturbed / "snapshot.pt", world_size, never), expected));
  }
}

}  // namespace
}  // namespace ddprun::worker
