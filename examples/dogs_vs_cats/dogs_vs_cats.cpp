// VGG-16 learns to tell dogs from cats: the job of pytorch_dvc_cnn_pretrained_multigpu.py of CSC's
// course "Introduction to deep learning", with its lines. A new head learns on frozen layers, then
// the last three convolutions learn with it. Six defects are repaired. Layers unfrozen after the
// wrap get their gradients averaged, where ranks drifted apart without a word; loss and accuracies
// are of all ranks, and each picture of a validation is seen by one of them; the order of pictures
// changes with the epoch; pictures are normalised as VGG-16's weights need it; the loss takes
// logits, so that it has no logarithm of 0; a job that is killed goes on from a snapshot, in either
// phase.
#include "ddprun/callbacks.hpp"
#include "ddprun/collectives.hpp"
#include "ddprun/device_usage.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/run.hpp"
#include "ddprun/trainer.hpp"
#include "examples/dogs_vs_cats/course_lines.hpp"
#include "examples/dogs_vs_cats/net.hpp"
#include "examples/dogs_vs_cats/pictures.hpp"
#include "examples/shared/command_line.hpp"
#include "examples/shared/loss_lines.hpp"
#include "examples/shared/result_line.hpp"

#include <torch/torch.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
namespace dogs = ddprun::examples::dogs;
using dogs::CourseLines;
using torch::Tensor;

struct Options {
  examples::JobOptions job{.epochs = 10, .batch_size = 25, .lr = 0.01, .seed = 42};
  std::int64_t fine_tuning_epochs = 20;
  double fine_tuning_lr = 1e-5;
  std::string scaling = "weak";
  bool no_augmentation = false;
  std::int64_t side = 150;
  std::int64_t width = worker::vgg16_width;
  std::int64_t images = 2000;
  std::string log;
};

bool read(const std::vector<std::string>& words, Options& options) {
  examples::CommandLine line("dogs_vs_cats", "Trains a VGG-16 to tell dogs from cats.");
  line.add(options.job);
  line.add_count("fine-tuning-epochs", options.fine_tuning_epochs, "those after --epochs", 0);
  line.add_number("fine-tuning-lr", options.fine_tuning_lr, "learning rate of those");
  line.add_choice("scaling",
                  options.scaling,
                  {"weak", "strong"},
                  "weak: --batch-size is of each rank; strong: of all");
  line.add_flag("no-augmentation", options.no_augmentation, "pictures are trained on as they are");
  line.add_count("side", options.side, "pixels of a picture's side", 32);
  line.add_count("width", options.width, "channels of the first layers; fewer: not VGG-16's");
  line.add_count("images", options.images, "this many are made up by --synthetic");
  line.add_text("log", options.log, "a folder for TensorBoard");
  return line.read(words);
}

/// Of each rank.
std::int64_t batch_size(const Options& options, int world_size) {
  if (options.scaling == "weak") return options.job.batch_size;
  if (options.job.batch_size % world_size == 0) return options.job.batch_size / world_size;
  throw worker::UsageError(worker::text("--scaling strong cannot divide --batch-size ",
                                        options.job.batch_size,
                                        " among ",
                                        world_size,
                                        " ranks; give a multiple of ",
                                        world_size));
}

/// A phase of the training has an optimizer of its own.
template <typename Optimizer>
struct Phase {
  Tensor training_step(auto& parallel, const worker::Batch& batch, worker::Metrics& metrics) {
    const Tensor outputs = parallel(batch.inputs);
    count_right(outputs, batch, metrics);
    return torch::binary_cross_entropy_with_logits(outputs, batch.targets.to(torch::kFloat));
  }
  void validation_step(const worker::Batch& batch, worker::Metrics& metrics) {
    count_right(net->forward(batch.inputs), batch, metrics);
  }
  static void count_right(const Tensor& outputs, const worker::Batch& batch, auto& metrics) {
    metrics.add("accuracy", outputs.gt(0).eq(batch.targets.gt(0)).sum(), batch.targets.numel());
  }

  dogs::Net net;
  Optimizer optimizer;
};

struct Callbacks {
  explicit Callbacks(const Options& options)
      : losses(std::make_shared<examples::LossLines>(options.job.losses)) {
    all = {
        lines,
        result,
        losses,
        std::make_shared<worker::DeviceUsage>(worker::DeviceUsageOptions{.curves = options.log})};
    if (!options.log.empty()) all.push_back(std::make_shared<worker::Curves>(options.log));
  }
  std::shared_ptr<CourseLines> lines = std::make_shared<CourseLines>();
  std::shared_ptr<examples::ResultLine> result = std::make_shared<examples::ResultLine>();
  std::shared_ptr<examples::LossLines> losses;
  std::vector<std::shared_ptr<worker::Callback>> all;
};

dogs::DogsAndCats open(const Options& options) {
  return dogs::open_pictures({.data = options.job.data,
                              .synthetic = options.job.synthetic ? options.images : 0,
                              .side = options.side,
                              .is_augmented = !options.no_augmentation,
                              .seed = options.job.seed});
}

void train(const std::vector<std::string>& words) {
  Options options;
  if (!read(words, options)) return;
  const examples::JobOptions& job = options.job;
  const auto context = worker::Context::from_environment();
  const Callbacks callbacks(options);
  worker::Trainer trainer({.session = {.epochs = job.epochs + options.fine_tuning_epochs,
                                       .steps_max = job.steps,
                                       .batch_size = batch_size(options, context.world_size),
                                       .seed = job.seed,
                                       .sampler = {.drop_last = true, .seed = job.seed}},
                           .callbacks = callbacks.all},
                          context);
  worker::Session& session = trainer.session();
  const auto say = [&session](const auto&... parts) {
    if (session.is_rank_0()) std::cout << worker::text(parts..., "\n") << std::flush;
  };
  const auto data = worker::made_on_all_ranks(session.group(), [&] { return open(options); });
  say("Train: Found ", data.training.size(), " images belonging to 2 classes");
  say("Validation: Found ", data.validation.size(), " images belonging to 2 classes");
  say("Test: Found ", data.test.size(), " images belonging to 2 classes");
  dogs::Net net(options.side, options.width);
  if (job.weights.empty()) {
    say("The features are random and teach little; give --weights those of a trained VGG-16");
  } else {
    worker::on_all_ranks(session.group(), [&] { dogs::load_weights(net, job.weights); });
  }
  const auto test = [&](auto& phase, const char* when) {
    callbacks.result->set_accuracy(trainer.validate(phase, data.test).at("accuracy"));
    if (session.is_rank_0()) CourseLines::print_test(when, *callbacks.result->accuracy());
  };

  dogs::train_layers_from(net, net->features->size());
  Phase<worker::SGD> head{net, worker::SGD(dogs::trained_parameters(net), job.lr)};
  callbacks.lines->set_phase(CourseLines::Phase::training, job.epochs);
  trainer.fit(head, data.training, data.validation);
  const auto is_tuned = [&] {
    const worker::Position& position = session.position();
    return position.epoch > job.epochs || (position.epoch == job.epochs && position.batch > 0);
  };
  if (!is_tuned()) test(head, "before");

  dogs::train_layers_from(net, dogs::first_tuned_layer);
  Phase<worker::RMSprop> tuned{
      net, worker::RMSprop(dogs::trained_parameters(net), options.fine_tuning_lr)};
  callbacks.lines->set_phase(CourseLines::Phase::fine_tuning, session.options().epochs);
  trainer.fit(tuned, data.training, data.validation);
  if (is_tuned()) test(tuned, "after");
  callbacks.result->print(session);
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
