// The smallest job worth restarting: one linear layer on made-up data, with a snapshot every few
// epochs. It follows multigpu_torchrun.py of CBS-HPC's tutorials, which follows PyTorch's own, with
// four repairs: every rank has the same data, from a seed; the loss is the mean squared error,
// where the cross entropy of a single class is always zero and teaches nothing; one process of the
// job saves, atomically and with the optimizer, not one per node straight into the file; EPOCHS_RUN
// counts finished epochs, so that none is trained twice. It asks once per epoch whether to
// stop, since it can resume only between epochs; fashion_mnist.cpp does so at each step.
#include "ddprun/context.hpp"
#include "ddprun/control.hpp"
#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/distributed_sampler.hpp"
#include "ddprun/finite.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/process_group.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/run.hpp"
#include "ddprun/snapshot_store.hpp"
#include "ddprun/stop_request.hpp"
#include "examples/arguments.hpp"

#include <torch/torch.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace ddprun;

constexpr const char* usage = "toy TOTAL_EPOCHS SAVE_EVERY [--batch-size 32]";
constexpr std::int64_t samples_count = 2048;
constexpr std::int64_t features_count = 20;
constexpr double learning_rate = 1e-3;

struct Dataset {
  torch::Tensor inputs;   // (samples, features) float32
  torch::Tensor targets;  // (samples, 1) float32
};

Dataset make_dataset(torch::Device device) {
  torch::manual_seed(0);
  torch::Tensor inputs = torch::rand({samples_count, features_count});
  torch::Tensor targets = torch::rand({samples_count, 1});
  return {inputs.to(device), targets.to(device)};
}

class Trainer {
 public:
  Trainer(const worker::Context& context, std::int64_t batch_size)
      : context_(context),
        group_(worker::ProcessGroup::connect(context)),
        batch_size_(batch_size),
        data_(make_dataset(worker::device_of(context))),
        model_(features_count, 1),
        snapshots_(context, group_, {.control = &control_}) {
    model_->to(worker::device_of(context));
  }

  void train(std::int64_t total_epochs, std::int64_t save_every) {
    torch::optim::SGD optimizer(model_->parameters(), learning_rate);
    resume(optimizer);
    worker::DistributedDataParallel<torch::nn::Linear> parallel(model_, group_);
    worker::StopRequest stop(group_, &control_);
    while (position_.epoch < total_epochs) {
      run_epoch(parallel, optimizer);
      ++position_.epoch;
      const bool is_last = stop.agreed();
      const bool saves = is_last || stop.save_agreed() || position_.epoch % save_every == 0;
      if (saves) save(optimizer);
      if (is_last) stop.leave(worker::text("at step ", position_.step));
    }
    if (context_.rank == 0) {
      worker::write_pt_file("finalmodel.pt", worker::to_value(worker::state_dict(*model_)));
      std::cout << "Final model saved at finalmodel.pt\n";
    }
  }

 private:
  void resume(torch::optim::Optimizer& optimizer) {
    auto snapshot = snapshots_.load();
    if (!snapshot) return;
    worker::load_state_dict(*model_, snapshot->model_state);
    if (!snapshot->optimizer_state.isNone()) {
      worker::load_optimizer_state(optimizer, snapshot->optimizer_state);
    }
    position_ = *std::move(snapshot);
    print(worker::text("Resuming training from snapshot at Epoch ", position_.epoch));
  }

  void run_epoch(worker::DistributedDataParallel<torch::nn::Linear>& parallel,
                 torch::optim::Optimizer& optimizer) {
    const worker::DistributedSampler sampler(samples_count, context_.rank, context_.world_size);
    const auto batches = torch::tensor(sampler.indices(position_.epoch)).to(data_.inputs.device());
    std::int64_t batches_count = 0;
    double loss_sum = 0;
    for (const torch::Tensor& batch : batches.split(batch_size_)) {
      parallel.zero_grad();
      const torch::Tensor output = parallel(data_.inputs.index_select(0, batch));
      torch::Tensor loss = torch::mse_loss(output, data_.targets.index_select(0, batch));
      loss.backward();
      optimizer.step();
      const double loss_here = loss.item<double>();
      worker::require_finite(loss_here, position_, context_.rank);
      loss_sum += loss_here;
      ++batches_count;
      control_.finished_step(++position_.step);
    }
    print(worker::text("Epoch ",
                       position_.epoch,
                       " | Batchsize: ",
                       batch_size_,
                       " | Steps: ",
                       batches_count,
                       " | Loss: ",
                       loss_sum / static_cast<double>(batches_count)));
  }

  void save(const torch::optim::Optimizer& optimizer) {
    position_.model_state = worker::state_dict(*model_);
    position_.optimizer_state = worker::optimizer_state(optimizer);
    if (!snapshots_.save(position_)) return;
    std::cout << worker::text("Epoch ",
                              position_.epoch - 1,
                              " | Training snapshot saved at ",
                              snapshots_.path().string(),
                              "\n");
  }

  void print(const std::string& line) const {
    std::cout << worker::text("[rank ", context_.rank, "] ", line, "\n");
  }

  worker::Context context_;
  worker::ProcessGroup group_;
  std::int64_t batch_size_;
  Dataset data_;
  torch::nn::Linear model_;
  worker::Control control_;  // tells ddprun of steps and snapshots
  worker::SnapshotStore snapshots_;
  worker::Snapshot position_;  // where training is; the states are filled in for saving
};

void train(const std::vector<std::string>& words) {
  const examples::Arguments arguments(words, {"batch-size"}, usage);
  arguments.expect_words(2);
  const std::int64_t total_epochs = arguments.count(0, "TOTAL_EPOCHS");
  const std::int64_t save_every = arguments.count(1, "SAVE_EVERY");
  const std::int64_t batch_size = arguments.count_or("batch-size", 32);
  Trainer(worker::Context::from_environment(), batch_size).train(total_epochs, save_every);
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
