// The smallest job worth restarting: one linear layer on made-up data, with a snapshot every few
// epochs. It follows multigpu_torchrun.py of CBS-HPC's tutorials, which follows PyTorch's own, with
// four repairs: every rank has the same data, from a seed; the loss is the mean squared error,
// where the cross entropy of a single class is always zero and teaches nothing; one process of the
// job saves, atomically and with the optimizer, not one per node straight into the file; EPOCHS_RUN
// counts finished epochs, so that none is trained twice. It asks once per epoch whether to
// stop, since its steps are shorter than the question; fashion_mnist.cpp does so at each step.
#include "ddprun/device_usage.hpp"
#include "ddprun/error.hpp"
#include "ddprun/mean.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/run.hpp"
#include "ddprun/session.hpp"
#include "examples/shared/command_line.hpp"
#include "examples/shared/loss_lines.hpp"
#include "examples/shared/result_line.hpp"
#include "examples/shared/start_weights.hpp"

#include <torch/torch.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace ddprun;

constexpr std::int64_t samples_count = 2048;
constexpr std::int64_t features_count = 20;

struct Dataset {
  torch::Tensor inputs;   // (samples, features) float32
  torch::Tensor targets;  // (samples, 1) float32
};

/// The same on all ranks.
Dataset make_dataset(torch::Device device, std::uint64_t seed) {
  torch::manual_seed(seed);
  torch::Tensor inputs = torch::rand({samples_count, features_count});
  torch::Tensor targets = torch::rand({samples_count, 1});
  return {inputs.to(device), targets.to(device)};
}

void train(const std::vector<std::string>& words) {
  examples::JobOptions options{.lr = 1e-3};
  std::int64_t save_every = 0;
  examples::CommandLine line("toy EPOCHS SAVE_EVERY", "Fits one linear layer to made-up data.");
  line.add(options);
  line.add_count("save-every", save_every, "epochs from one snapshot to the next");
  line.add_words({"epochs", "save-every"});
  if (!line.read(words)) return;
  if (!options.data.empty()) throw worker::UsageError("toy makes its data up; leave out --data");
  const auto print_saved = [](const worker::Position& position, const std::string& path) {
    const bool ends_epoch = position.samples == 0;
    std::cout << worker::text("Epoch ",
                              position.epoch - (ends_epoch ? 1 : 0),
                              " | Training snapshot saved at ",
                              path,
                              "\n");
  };
  worker::Session session({.epochs = options.epochs,
                           .steps_max = options.steps,
                           .batch_size = options.batch_size,
                           .save_every_epochs = save_every,
                           .ask_every = 0,
                           .seed = options.seed,
                           .sampler = {.seed = options.seed},
                           .saved = print_saved});
  const auto print = [&session](const auto&... parts) {
    std::cout << worker::text("[rank ", session.context().rank, "] ", parts..., "\n");
  };
  const Dataset data = make_dataset(session.device(), options.seed);
  torch::nn::Linear model(features_count, 1);
  examples::load_weights(*model, options.weights, session.group());
  torch::optim::SGD optimizer(model->parameters(), options.lr);
  auto parallel = session.prepare(model, optimizer);
  if (const auto epoch = session.position().epoch; epoch > 0) {
    print("Resuming training from snapshot at Epoch ", epoch);
  }
  examples::LossLines losses(options.losses);
  examples::ResultLine result;
  worker::DeviceUsage usage;
  usage.begin(session);
  losses.begin(session);
  result.begin(session);
  worker::Mean mean_loss;
  for (const worker::Step& step : session.steps(samples_count)) {
    const torch::Tensor output = parallel(data.inputs.index_select(0, step.samples));
    const auto loss = torch::mse_loss(output, data.targets.index_select(0, step.samples));
    session.backward(loss);
    session.step();
    losses.finish_step(session, step, loss.detach());
    result.finish_step(session, step, loss.detach());
    mean_loss.add(loss);
    if (!step.ends_epoch) continue;
    print("Epoch ",
          step.position.epoch,
          " | Batchsize: ",
          options.batch_size,
          " | Steps: ",
          step.position.batch + 1,
          " | Loss: ",
          mean_loss.over_this_rank());
    usage.tell(session);
  }
  if (session.is_rank_0()) {
    worker::write_pt_file("finalmodel.pt", worker::to_value(worker::state_dict(*model)));
    std::cout << "Final model saved at finalmodel.pt\n";
  }
  result.print(session);
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
