// ResNet-18 from random weights on photographs of ants and bees, as the course "Getting started
// with AI on supercomputers" of JSC (2023) trains it with Lightning Flash, to show how a job grows
// from one GPU to four nodes. Repaired: the number of GPUs stands in one place, the batch script,
// where the course had it in the script and in the program, which then used one GPU of each node;
// the ranks find each other by ddprun, and not by patterns of host names and a fixed port, which
// two jobs on a node share. The accuracy is exact over all ranks, rank 0 alone writes the model,
// whole or not at all, and a job that was ended goes on from its snapshot. With a batch of one, as
// in the course, a BatchNorm sees one picture; --sync-batch-norm shows it those of all ranks.
#include "ddprun/callbacks.hpp"
#include "ddprun/device_usage.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/run.hpp"
#include "ddprun/sync_batch_norm.hpp"
#include "ddprun/trainer.hpp"
#include "examples/shared/classifier.hpp"
#include "examples/shared/command_line.hpp"
#include "examples/shared/loss_lines.hpp"
#include "examples/shared/pictures.hpp"
#include "examples/shared/result_line.hpp"

#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t insects_count = 2;  // ants and bees

struct InsectOptions {
  examples::JobOptions job{.epochs = 50, .batch_size = 1, .lr = 1e-3};
  examples::PictureOptions pictures{.side = 196, .synthetic_count = 244};
  bool mirrors_none = false;
  bool sync_batch_norm = false;
  std::string log;
  std::string model = "hymenoptera.pt";
};

bool read(InsectOptions& options, const std::vector<std::string>& words) {
  examples::CommandLine line("hymenoptera", "Trains a ResNet-18 on pictures of ants and bees.");
  line.add(options.job);
  examples::add(line, options.pictures);
  line.add_flag("no-augmentation", options.mirrors_none, "mirrors no picture");
  line.add_flag("sync-batch-norm", options.sync_batch_norm, "BatchNorm over all ranks' pictures");
  line.add_text("log", options.log, "a folder for TensorBoard");
  line.add_text("model", options.model, "the file for the trained weights");
  return line.read(words);
}

examples::Classifier make_classifier(const InsectOptions& options,
                                     const worker::ProcessGroup& group) {
  worker::ResNetOptions of_net{.classes_count = insects_count};
  if (options.sync_batch_norm) {
    of_net.norm_layer = [group](std::int64_t channels_count) {
      return torch::nn::AnyModule(worker::SyncBatchNorm(channels_count, group));
    };
  }
  worker::ResNet net = worker::resnet18(of_net);
  auto optimizer = std::make_unique<worker::Adam>(net->parameters(), options.job.lr);
  return {.net = std::move(net), .owned_optimizer = std::move(optimizer)};
}

/// In the form of the course: "elapsed: 00 hours 01 min 16 sec".
void print_elapsed(Clock::duration time) {
  const auto s = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  std::printf("elapsed: %02lld hours %02lld min %02lld sec\n",
              static_cast<long long>(s / 3600),
              static_cast<long long>(s / 60 % 60),
              static_cast<long long>(s % 60));
}

void train(const std::vector<std::string>& words) {
  const Clock::time_point begin = Clock::now();
  InsectOptions options;
  if (!read(options, words)) return;
  const examples::JobOptions& job = options.job;
  const auto result = std::make_shared<examples::ResultLine>();
  std::vector<std::shared_ptr<worker::Callback>> callbacks = {
      std::make_shared<examples::LossLines>(job.losses),
      result,
      std::make_shared<worker::DeviceUsage>(worker::DeviceUsageOptions{.curves = options.log}),
      std::make_shared<worker::ProgressLines>()};
  if (!options.log.empty()) callbacks.push_back(std::make_shared<worker::Curves>(options.log));
  worker::Trainer trainer({.session = {.epochs = job.epochs,
                                       .steps_max = job.steps,
                                       .batch_size = job.batch_size,
                                       .seed = job.seed,
                                       .sampler = {.seed = job.seed}},
                           .validation_batch_size = 32,
                           .callbacks = callbacks});
  const worker::ProcessGroup& group = trainer.session().group();
  const auto pictures =
      examples::open_pictures(job, options.pictures, insects_count, !options.mirrors_none, group);
  examples::Classifier classifier = make_classifier(options, group);
  examples::train_classifier(trainer, classifier, pictures, job, *result, options.model);
  if (trainer.session().is_rank_0()) print_elapsed(Clock::now() - begin);
  result->print(trainer.session());
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
