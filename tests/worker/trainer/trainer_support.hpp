// A module and a training for trainers and callbacks of one rank, in this process.
#pragma once

#include "ddprun/tensor_data.hpp"
#include "ddprun/trainer.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace ddprun::worker::test {

/// Learns to add up three numbers.
struct SumModule {
  torch::Tensor training_step(auto& parallel, const Batch& batch, Metrics& metrics) {
    const torch::Tensor loss = torch::mse_loss(parallel(batch.inputs), batch.targets);
    metrics.add("twice", 2 * loss.detach());
    return loss;
  }

  void validation_step(const Batch& batch, Metrics& metrics) {
    const torch::Tensor errors = (net->forward(batch.inputs) - batch.targets).abs();
    metrics.add("error", errors.sum(), errors.numel());
    CHECK_FALSE(net->is_training());
  }

  torch::nn::Sequential net{
      torch::nn::Linear(3, 8), torch::nn::Dropout(0.5), torch::nn::Linear(8, 1)};
  torch::optim::Adam optimizer{net->parameters(), 0.05};
};

inline TensorData sums(std::int64_t count, int factor = 1) {
  const torch::Tensor inputs =
      torch::linspace(-1, 1, 3 * count, torch::kFloat).reshape({count, 3}) * factor;
  return {inputs, inputs.sum(1, true)};
}

inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// A start of a training in `folder` with an epoch of two steps for each of `values`, the metric
/// "x". Returns how many epochs are done after it, earlier starts included.
inline std::int64_t train_epochs(const TemporaryFolder& folder,
                                 const std::vector<double>& values,
                                 Callback& callback) {
  Session session({.epochs = std::ssize(values), .batch_size = 1}, context_in(folder));
  torch::nn::Linear net(1, 1);
  torch::optim::SGD optimizer(net->parameters(), 0.5);
  auto parallel = session.prepare(net, optimizer);
  callback.begin(session);
  for (const Step& step : session.steps(2)) {
    const auto epoch = step.position.epoch;
    const torch::Tensor loss = parallel(torch::ones({1, 1})).sum();
    session.backward(loss);
    session.step();
    callback.finish_step(session, step, loss.detach());
    if (!step.ends_epoch) continue;
    EpochReport report{epoch, step.position.step + 1, {{"unlike x", 1000.0}}};
    report.metrics["x"] = values.at(static_cast<std::size_t>(epoch));
    callback.finish_epoch(session, report);
  }
  return session.position().epoch;
}

}  // namespace ddprun::worker::test
