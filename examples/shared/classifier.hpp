// What jobs that train a ResNet on pictures share: the steps, and the course of the whole training.
#pragma once

#include "ddprun/resnet.hpp"
#include "ddprun/trainer.hpp"
#include "examples/shared/command_line.hpp"
#include "examples/shared/pictures.hpp"
#include "examples/shared/result_line.hpp"

#include <torch/torch.h>

#include <memory>
#include <string>

namespace ddprun::examples {

/// A module for worker::Trainer, with the cross entropy as its loss.
struct Classifier {
  torch::Tensor training_step(auto& parallel,
                              const worker::Batch& batch,
                              worker::Metrics& /*metrics*/) {
    return torch::cross_entropy_loss(parallel(batch.inputs), batch.targets);
  }

  void validation_step(const worker::Batch& batch, worker::Metrics& metrics) {
    const torch::Tensor guesses = net->forward(batch.inputs).argmax(1);
    metrics.add("accuracy", guesses.eq(batch.targets).sum(), batch.targets.numel());
  }

  worker::ResNet net;
  std::unique_ptr<torch::optim::Optimizer> owned_optimizer;  // of the net's parameters
  torch::optim::Optimizer& optimizer = *owned_optimizer;
};

/// Begins with --weights, if given, trains, and tells `result` the accuracy of the trained network,
/// also where --steps ends within an epoch. Rank 0 writes the weights to `model`. Collective.
void train_classifier(worker::Trainer& trainer,
                      Classifier& classifier,
                      const PictureSets& pictures,
                      const JobOptions& job,
                      ResultLine& result,
                      const std::string& model);

}  // namespace ddprun::examples
