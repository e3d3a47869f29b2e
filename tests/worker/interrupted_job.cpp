// The worker of a job that interruption_test.cpp interrupts: a network with dropout, shuffled
// batches and Adam, which saves every few steps and ends itself with SIGKILL, half way through a
// step, where it is told to.
#include "worker/context.hpp"
#include "worker/distributed_data_parallel.hpp"
#include "worker/distributed_sampler.hpp"
#include "worker/optimizer_state.hpp"
#include "worker/process_group.hpp"
#include "worker/pt_file.hpp"
#include "worker/run.hpp"
#include "worker/snapshot_store.hpp"
#include "worker/step_seed.hpp"

#include <torch/torch.h>

#include <csignal>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;
namespace nn = torch::nn;

constexpr std::int64_t samples_count = 203;  // no multiple of ranks or batches
constexpr std::int64_t batch_size = 8;
constexpr std::int64_t epochs_count = 3;
constexpr std::int64_t save_every = 5;

/// Words: the file for the final parameters, then "RESTARTS:RANK:STEP" for each interruption.
void train(const std::vector<std::string>& words) {
  const auto context = worker::Context::from_environment();
  const auto group = worker::ProcessGroup::connect(context);
  worker::seed_generators({.seed = 1});
  const Tensor inputs = torch::randn({samples_count, 6});
  const Tensor targets = inputs.sin().sum(1, true);
  nn::Sequential net(nn::Linear(6, 32), nn::Dropout(0.3), nn::ReLU(), nn::Linear(32, 1));
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  worker::SnapshotStore snapshots(context, group);
  worker::Snapshot position;
  if (auto snapshot = snapshots.load()) {
    worker::load_state_dict(*net, snapshot->model_state);
    worker::load_optimizer_state(optimizer, snapshot->optimizer_state);
    position = *std::move(snapshot);
  }
  worker::DistributedDataParallel<nn::Sequential> parallel(net, group);
  const auto save = [&] {
    position.model_state = worker::state_dict(*net);
    position.optimizer_state = worker::optimizer_state(optimizer);
    snapshots.save(position);
  };
  const worker::DistributedSampler sampler(samples_count, context.rank, context.world_size);
  for (; position.epoch < epochs_count; ++position.epoch, position.samples = 0) {
    const auto indices = torch::tensor(sampler.indices(position.epoch, position.samples));
    for (const Tensor& batch : indices.split(batch_size)) {
      if (batch.numel() == 0) break;  // the epoch was complete already
      worker::seed_generators({.seed = 2, .step = position.step, .rank = context.rank});
      parallel.zero_grad();
      const Tensor output = parallel(inputs.index_select(0, batch));
      torch::mse_loss(output, targets.index_select(0, batch)).backward();
      const std::string here =
          worker::text(context.restart_count, ":", context.rank, ":", position.step);
      for (const std::string& word : words) {
        if (word == here) static_cast<void>(std::raise(SIGKILL));
      }
      optimizer.step();
      ++position.step;
      position.samples += batch.numel() * context.world_size;
      if (position.step % save_every == 0) save();
    }
  }
  save();
  if (context.rank == 0) {
    worker::write_pt_file(words.at(0), worker::to_value(worker::state_dict(*net)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
