// The smallest job worth restarting: one linear layer on made-up data, with a snapshot every few
// epochs. It follows multigpu_torchrun.py of CBS-HPC's tutorials, which follows PyTorch's own, with
// four repairs: every rank has the same data, from a seed; the loss is the mean squared error,
// where the cross entropy of a single class is always zero and teaches nothing; one process of the
// job saves, atomically and with the optimizer, not one per node straight into the file; EPOCHS_RUN
// counts finished epochs, so that none is trained twice.
#include "examples/arguments.hpp"
#include "worker/context.hpp"
#include "worker/distributed_data_parallel.hpp"
#include "worker/distributed_sampler.hpp"
#include "worker/optimizer_state.hpp"
#include "worker/process_group.hpp"
#include "worker/pt_file.hpp"
#include "worker/run.hpp"
#include "worker/snapshot_store.hpp"

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
        snapshots_(context, group_) {
    model_->to(worker::device_of(context));
  }

  void train(std::int64_t total_epochs, std::int64_t save_every) {
    torch::optim::SGD optimizer(model_->parameters(), learning_rate);
    const std::int64_t first_epoch = resume(optimizer);
    worker::DistributedDataParallel<torch::nn::Linear> parallel(model_, group_);
    for (std::int64_t epoch = first_epoch; epoch < total_epochs; ++epoch) {
      run_epoch(epoch, parallel, optimizer);
      if ((epoch + 1) % save_every == 0) save(epoch, optimizer);
    }
    if (context_.rank == 0) {
      worker::write_pt_file("finalmodel.pt", worker::to_value(worker::state_dict(*model_)));
      std::cout << "Final model saved at finalmodel.pt\n";
    }
  }

 private:
  std::int64_t resume(torch::optim::Optimizer& optimizer) {
    const auto snapshot = snapshots_.load();
    if (!snapshot) return 0;
    worker::load_state_dict(*model_, snapshot->model_state);
    if (!snapshot->optimizer_state.isNone()) {
      worker::load_optimizer_state(optimizer, snapshot->optimizer_state);
    }
    steps_ = snapshot->step;
    print(worker::text("Resuming training from snapshot at Epoch ", snapshot->epoch));
    return snapshot->epoch;
  }

  void run_epoch(std::int64_t epoch,
                 worker::DistributedDataParallel<torch::nn::Linear>& parallel,
                 torch::optim::Optimizer& optimizer) {
    const worker::DistributedSampler sampler(samples_count, context_.rank, context_.world_size);
    const auto batches = torch::tensor(sampler.indices(epoch)).to(data_.inputs.device());
    std::int64_t batches_count = 0;
    double loss_sum = 0;
    for (const torch::Tensor& batch : batches.split(batch_size_)) {
      parallel.zero_grad();
      const torch::Tensor output = parallel(data_.inputs.index_select(0, batch));
      torch::Tensor loss = torch::mse_loss(output, data_.targets.index_select(0, batch));
      loss.backward();
      optimizer.step();
      loss_sum += loss.item<double>();
      ++batches_count;
    }
    steps_ += batches_count;
    print(worker::text("Epoch ",
                       epoch,
                       " | Batchsize: ",
                       batch_size_,
                       " | Steps: ",
                       batches_count,
                       " | Loss: ",
                       loss_sum / static_cast<double>(batches_count)));
  }

  void save(std::int64_t epoch, const torch::optim::Optimizer& optimizer) {
    worker::Snapshot snapshot;
    snapshot.model_state = worker::state_dict(*model_);
    snapshot.optimizer_state = worker::optimizer_state(optimizer);
    snapshot.epoch = epoch + 1;
    snapshot.step = steps_;
    snapshots_.save(std::move(snapshot));
    if (context_.rank == 0) {
      std::cout << worker::text(
          "Epoch ", epoch, " | Training snapshot saved at ", snapshots_.path().string(), "\n");
    }
  }

  void print(const std::string& line) const {
    std::cout << worker::text("[rank ", context_.rank, "] ", line, "\n");
  }

  worker::Context context_;
  worker::ProcessGroup group_;
  std::int64_t batch_size_;
  Dataset data_;
  torch::nn::Linear model_;
  worker::SnapshotStore snapshots_;
  std::int64_t steps_ = 0;
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
