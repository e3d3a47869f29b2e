// The smallest job worth restarting: one linear layer on made-up data, with a snapshot every few
// epochs. It follows multigpu_torchrun.py of CBS-HPC's tutorials, which follows PyTorch's own, with
// four repairs: every rank has the same data, from a seed; the loss is the mean squared error,
// where the cross entropy of a single class is always zero and teaches nothing; one process of the
// job saves, atomically and with the optimizer, not one per node straight into the file; EPOCHS_RUN
// counts finished epochs, so that none is trained twice. It asks once per epoch whether to
// stop, since its steps are shorter than the question; fashion_mnist.cpp does so at each step.
#include "ddprun/error.hpp"
#include "ddprun/mean.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/run.hpp"
#include "ddprun/session.hpp"
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

void train(const std::vector<std::string>& words) {
  const examples::Arguments arguments(words, {"batch-size"}, usage);
  arguments.expect_words(2);
  const std::int64_t batch_size = arguments.count_or("batch-size", 32);
  const auto print_saved = [](const worker::Position& position, const std::string& path) {
    std::cout << worker::text(
        "Epoch ", position.epoch - 1, " | Training snapshot saved at ", path, "\n");
  };
  worker::Session session({.epochs = arguments.count(0, "TOTAL_EPOCHS"),
                           .batch_size = batch_size,
                           .save_every_epochs = arguments.count(1, "SAVE_EVERY"),
                           .ask_every = 0,
                           .saved = print_saved});
  const auto print = [&session](const auto&... parts) {
    std::cout << worker::text("[rank ", session.context().rank, "] ", parts..., "\n");
  };
  const Dataset data = make_dataset(session.device());
  torch::nn::Linear model(features_count, 1);
  torch::optim::SGD optimizer(model->parameters(), learning_rate);
  auto parallel = session.prepare(model, optimizer);
  if (const auto epoch = session.position().epoch; epoch > 0) {
    print("Resuming training from snapshot at Epoch ", epoch);
  }
  worker::Mean mean_loss;
  for (const worker::Step& step : session.steps(samples_count)) {
    const torch::Tensor output = parallel(data.inputs.index_select(0, step.samples));
    const auto loss = torch::mse_loss(output, data.targets.index_select(0, step.samples));
    session.backward(loss);
    session.step();
    mean_loss.add(loss);
    if (!step.ends_epoch) continue;
    print("Epoch ",
          step.position.epoch,
          " | Batchsize: ",
          batch_size,
          " | Steps: ",
          step.position.batch + 1,
          " | Loss: ",
          mean_loss.over_this_rank());
  }
  if (session.is_rank_0()) {
    worker::write_pt_file("finalmodel.pt", worker::to_value(worker::state_dict(*model)));
    std::cout << "Final model saved at finalmodel.pt\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
