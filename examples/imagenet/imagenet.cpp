// ResNet-50 on ImageNet by the recipe of JSC's course "Getting started with AI on supercomputers"
// (2023 and 2024), which measures by it 1 to 128 GPUs, and folders beside HDF5: pictures of 256 x
// 256 pixels, 10 epochs, Adam with a learning rate of 0.02. Repaired: the number of nodes and GPUs
// stands in the batch script alone; the curve `training_loss` is the mean over all ranks, not rank
// 0's own; the accuracy on val/ is measured, which the course never does, exactly over all ranks; a
// job that its time limit ends goes on from a snapshot, where the course saves at the end alone.
// Adam's rate is the course's for comparisons, and is high: --recipe sgd is the usual one.
#include "ddprun/callbacks.hpp"
#include "ddprun/device_usage.hpp"
#include "ddprun/error.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/run.hpp"
#include "ddprun/schedule.hpp"
#include "ddprun/trainer.hpp"
#include "examples/imagenet/training_loss.hpp"
#include "examples/shared/classifier.hpp"
#include "examples/shared/command_line.hpp"
#include "examples/shared/loss_lines.hpp"
#include "examples/shared/pictures.hpp"
#include "examples/shared/result_line.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace ddprun;

struct ImageNetOptions {
  examples::JobOptions job{.epochs = 10, .batch_size = 256, .lr = 0.02};
  examples::PictureOptions pictures{.side = 256, .synthetic_count = 2048};
  std::int64_t classes_count = 1000;
  std::string layers = "50";
  std::string recipe = "adam";
  std::string log = "runs";
  std::int64_t log_every = 50;
  std::string model = "imagenet.pt";
};

bool read(ImageNetOptions& options, const std::vector<std::string>& words) {
  examples::CommandLine line("imagenet", "Trains a ResNet-50 on ImageNet.");
  line.add(options.job);
  examples::add(line, options.pictures);
  line.add_count("classes", options.classes_count, "folders in train/, or numbers in labels");
  line.add_choice("layers", options.layers, {"18", "50"}, "18, or 50 for a ResNet-50");
  line.add_choice(
      "recipe", options.recipe, {"adam", "sgd"}, "adam, or sgd: --lr is for 256 pictures then");
  line.add_text("log", options.log, "the folder for TensorBoard");
  line.add_count("log-every", options.log_every, "steps from one point of the curve to the next");
  line.add_text("model", options.model, "the file for the trained weights");
  return line.read(words);
}

/// `sgd` as Goyal et al. (arXiv:1706.02677): the rate grows with the pictures of a step.
examples::Classifier make_classifier(const ImageNetOptions& options, int world_size) {
  const worker::ResNetOptions of_net{.classes_count = options.classes_count};
  worker::ResNet net = options.layers == "18" ? worker::resnet18(of_net) : worker::resnet50(of_net);
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  if (options.recipe == "adam") {
    optimizer = std::make_unique<worker::Adam>(net->parameters(), options.job.lr);
  } else {
    const auto pictures_count = static_cast<double>(options.job.batch_size * world_size);
    const double lr = options.job.lr * pictures_count / 256;
    optimizer = std::make_unique<worker::SGD>(
        net->parameters(), torch::optim::SGDOptions(lr).momentum(0.9).weight_decay(1e-4));
  }
  return {.net = std::move(net), .owned_optimizer = std::move(optimizer)};
}

/// None for Adam. For SGD the rate grows for five epochs, or half of all, and falls by a cosine.
worker::Schedule schedule_of(const ImageNetOptions& options) {
  if (options.recipe == "adam") return {};
  const auto epochs = static_cast<double>(options.job.epochs);
  return worker::cosine_schedule({.epochs = epochs, .warmup_epochs = std::min(5.0, epochs / 2)});
}

void train(const std::vector<std::string>& words) {
  ImageNetOptions options;
  if (!read(options, words)) return;
  const examples::JobOptions& job = options.job;
  const auto result = std::make_shared<examples::ResultLine>();
  worker::Trainer trainer(
      {.session = {.epochs = job.epochs,
                   .steps_max = job.steps,
                   .batch_size = job.batch_size,
                   .seed = job.seed,
                   .sampler = {.seed = job.seed},
                   .schedule = schedule_of(options)},
       .callbacks = {
           std::make_shared<examples::LossLines>(job.losses),
           std::make_shared<examples::TrainingLoss>(options.log, options.log_every),
           std::make_shared<worker::DeviceUsage>(worker::DeviceUsageOptions{.curves = options.log}),
           result,
           std::make_shared<worker::ProgressLines>()}});
  worker::Session& session = trainer.session();
  const auto pictures =
      examples::open_pictures(job, options.pictures, options.classes_count, false, session.group());
  examples::Classifier classifier = make_classifier(options, session.context().world_size);
  examples::train_classifier(trainer, classifier, pictures, job, *result, options.model);
  result->print(session);
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
