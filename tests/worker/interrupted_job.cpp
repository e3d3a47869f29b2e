// The worker of a job that interruption_test.cpp interrupts and stop_request_test.cpp stops: a
// network with dropout, shuffled batches and Adam, which saves every few steps. It sends itself
// SIGKILL half way through a step, or SIGTERM before one, where it is told to.
#include "ddprun/context.hpp"
#include "ddprun/control.hpp"
#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/distributed_sampler.hpp"
#include "ddprun/error.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/process_group.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/run.hpp"
#include "ddprun/snapshot_store.hpp"
#include "ddprun/step_seed.hpp"
#include "ddprun/stop_request.hpp"

#include <torch/torch.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;
namespace nn = torch::nn;

constexpr std::int64_t samples_count = 203;  // no multiple of ranks or batches
constexpr std::int64_t batch_size = 8;
constexpr std::int64_t epochs_count = 3;
constexpr std::int64_t save_every = 5;

/// While alive, sends SIGTERM to the thread that made it, again and again.
class Storm {
 public:
  Storm() : target_(::pthread_self()) { sender_ = std::thread(&Storm::send, this); }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;
  ~Storm() {
    is_over_ = true;
    sender_.join();
  }

 private:
  void send() const {
    do {
      static_cast<void>(::pthread_kill(target_, SIGTERM));
    } while (!is_over_);
  }

  pthread_t target_;
  std::atomic<bool> is_over_{false};
  std::thread sender_;
};

/// The other ranks never take part in it.
void throw_in_collective(const worker::ProcessGroup& group) {
  std::vector<Tensor> tensors{torch::ones({1})};
  const auto under_way = group.native()->allreduce(tensors);
  throw worker::Error("this rank gives up");
}

/// Words: the file for the final parameters, then one for each interruption:
///     RESTARTS:RANK:STEP        SIGKILL
///     RESTARTS:RANK:STEP:term   SIGTERM
///     RESTARTS:RANK:STEP:storm  SIGTERM without pause whenever it saves, from this step on
///     RESTARTS:RANK:STEP:pause  it goes on never
///     RESTARTS:RANK:STEP:throw  an exception
///     RESTARTS:RANK:STEP:late   the same, while a collective is under way
void train(const std::vector<std::string>& words) {
  const auto context = worker::Context::from_environment();
  const auto group = worker::ProcessGroup::connect(context);
  worker::seed_generators({.seed = 1});
  const Tensor inputs = torch::randn({samples_count, 6});
  const Tensor targets = inputs.sin().sum(1, true);
  nn::Sequential net(nn::Linear(6, 32), nn::Dropout(0.3), nn::ReLU(), nn::Linear(32, 1));
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  worker::Control control;
  worker::SnapshotStore snapshots(context, group, {.control = &control});
  worker::Snapshot position;
  if (auto snapshot = snapshots.load()) {
    worker::load_state_dict(*net, snapshot->model_state);
    worker::load_optimizer_state(optimizer, snapshot->optimizer_state);
    position = *std::move(snapshot);
  }
  worker::DistributedDataParallel<nn::Sequential> parallel(net, group);
  const auto is_told = [&](const std::string& interruption) {
    const std::string here =
        worker::text(context.restart_count, ":", context.rank, ":", position.step, interruption);
    return std::find(words.begin(), words.end(), here) != words.end();
  };
  bool is_storming = false;
  const auto save = [&] {
    position.model_state = worker::state_dict(*net);
    position.optimizer_state = worker::optimizer_state(optimizer);
    std::optional<Storm> storm;
    if (is_storming) storm.emplace();
    snapshots.save(position);
  };
  worker::StopRequest stop(group, &control);
  const worker::DistributedSampler sampler(samples_count, context.rank, context.world_size);
  for (; position.epoch < epochs_count; ++position.epoch, position.samples = 0) {
    const auto indices = torch::tensor(sampler.indices(position.epoch, position.samples));
    for (const Tensor& batch : indices.split(batch_size)) {
      if (batch.numel() == 0) break;  // the epoch was complete already
      if (is_told(":term")) static_cast<void>(std::raise(SIGTERM));
      is_storming = is_storming || is_told(":storm");
      while (is_told(":pause")) static_cast<void>(::pause());
      if (is_told(":throw")) throw worker::Error("this rank gives up");
      if (is_told(":late")) throw_in_collective(group);
      worker::seed_generators({.seed = 2, .step = position.step, .rank = context.rank});
      parallel.zero_grad();
      const Tensor output = parallel(inputs.index_select(0, batch));
      torch::mse_loss(output, targets.index_select(0, batch)).backward();
      if (is_told("")) static_cast<void>(std::raise(SIGKILL));
      optimizer.step();
      control.finished_step(++position.step);
      position.samples += batch.numel() * context.world_size;
      const bool is_last = stop.agreed();
      if (is_last || stop.save_agreed() || position.step % save_every == 0) save();
      if (is_last) stop.leave(worker::text("at step ", position.step));
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
