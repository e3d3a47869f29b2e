// Trains a small network on made-up samples. Replace the network, the samples and the loss.
#include "ddprun/mean.hpp"
#include "ddprun/run.hpp"
#include "ddprun/session.hpp"

#include <torch/torch.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace ddprun;

void train(const std::vector<std::string>& arguments) {
  worker::Session session({
      .epochs = arguments.empty() ? 10 : std::stoi(arguments.front()),
      .batch_size = 32,
      .save_every = 100,
  });
  // The session has seeded the generators, so all ranks make the same samples and weights.
  const torch::Tensor inputs = torch::rand({1024, 20}).to(session.device());
  const torch::Tensor targets = inputs.sum(1, true);
  torch::nn::Sequential network(
      torch::nn::Linear(20, 64), torch::nn::ReLU(), torch::nn::Linear(64, 1));
  torch::optim::SGD optimizer(network->parameters(), 0.01);
  auto parallel = session.prepare(network, optimizer);
  worker::Mean mean_loss;
  for (const worker::Step& step : session.steps(inputs.size(0))) {
    const auto output = parallel(inputs.index_select(0, step.samples));
    const auto loss = torch::mse_loss(output, targets.index_select(0, step.samples));
    session.backward(loss);
    session.step();
    mean_loss.add(loss.detach());
    if (!step.ends_epoch) continue;
    const double loss_of_all = mean_loss.over(session.group());
    if (!session.is_rank_0()) continue;
    std::cout << "epoch " << step.position.epoch << " on " << session.context().world_size
              << " ranks, loss " << loss_of_all << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
