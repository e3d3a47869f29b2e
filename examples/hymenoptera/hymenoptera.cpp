// ResNet-18 from random weights on photographs of ants and bees, as the course "Getting started
// with AI on supercomputers" of JSC (2023) trains it with Lightning Flash, to show how a job grows
// from one GPU to four nodes. Repaired: the number of GPUs stands in one place, the batch script,
// where the course had it in the script and in the program, which then used one GPU of each node;
// the ranks find each other by ddprun, and not by patterns of host names and a fixed port, which
// two jobs on a node share. The accuracy is exact over all ranks, rank 0 alone writes the model,
// whole or not at all, and a job that was ended goes on from its snapshot. With a batch of one, as
// in the course, a BatchNorm sees one picture; --sync-batch-norm shows it those of all ranks.
#include "ddprun/callbacks.hpp"
#include "ddprun/collectives.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/resnet.hpp"
#include "ddprun/run.hpp"
#include "ddprun/sync_batch_norm.hpp"
#include "ddprun/trainer.hpp"
#include "ddprun/weights.hpp"
#include "examples/shared/command_line.hpp"
#include "examples/shared/loss_lines.hpp"
#include "examples/shared/pictures.hpp"
#include "examples/shared/result_line.hpp"

#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t insects_count = 2;  // ants and bees

struct InsectOptions {
  examples::JobOptions job{.epochs = 50, .batch_size = 1, .lr = 1e-3};
  examples::PictureOptions pictures{.side = 196, .synthetic_count = 244};
  bool flips_none = false;
  bool sync_batch_norm = false;
  std::string model = "hymenoptera.pt";
};

struct InsectClassifier {
  InsectClassifier(const InsectOptions& options, const worker::ProcessGroup& group)
      : net(worker::resnet18({.classes_count = insects_count,
                              .norm_layer = options.sync_batch_norm ? norm_over(group) : nullptr})),
        optimizer(net->parameters(), options.job.lr) {}

  Tensor training_step(auto& parallel, const worker::Batch& batch, worker::Metrics& /*metrics*/) {
    return torch::cross_entropy_loss(parallel(batch.inputs), batch.targets);
  }

  void validation_step(const worker::Batch& batch, worker::Metrics& metrics) {
    const Tensor guesses = net->forward(batch.inputs).argmax(1);
    metrics.add("accuracy", guesses.eq(batch.targets).sum(), batch.targets.numel());
  }

  static std::function<torch::nn::AnyModule(std::int64_t)> norm_over(
      const worker::ProcessGroup& group) {
    return [group](std::int64_t channels) {
      return torch::nn::AnyModule(worker::SyncBatchNorm(channels, group));
    };
  }

  worker::ResNet net;
  worker::Adam optimizer;
};

/// As the course's program tells it: "elapsed: 00 hours 01 min 16 sec".
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
  examples::CommandLine line("hymenoptera", "Trains a ResNet-18 on pictures of ants and bees.");
  line.add(options.job);
  examples::add(line, options.pictures);
  line.add_flag("no-augmentation", options.flips_none, "mirrors no picture");
  line.add_flag("sync-batch-norm", options.sync_batch_norm, "BatchNorm over all ranks' pictures");
  line.add_text("model", options.model, "the file for the trained weights");
  if (!line.read(words)) return;

  const auto result = std::make_shared<examples::ResultLine>();
  worker::Trainer trainer({.session = {.epochs = options.job.epochs,
                                       .steps_max = options.job.steps,
                                       .batch_size = options.job.batch_size,
                                       .seed = options.job.seed,
                                       .sampler = {.seed = options.job.seed}},
                           .validation_batch_size = 32,
                           .callbacks = {std::make_shared<examples::LossLines>(options.job.losses),
                                         result,
                                         std::make_shared<worker::ProgressLines>()}});
  const worker::ProcessGroup& group = trainer.session().group();
  const examples::PictureSets pictures = examples::open_pictures(
      options.job, options.pictures, insects_count, !options.flips_none, group);
  InsectClassifier classifier(options, group);
  if (!options.job.weights.empty()) {
    worker::on_all_ranks(group, [&] {
      worker::load_state_dict(*classifier.net, worker::read_weights(options.job.weights));
    });
  }
  trainer.fit(classifier, pictures.training, pictures.validation);
  if (!result
           ->accuracy()) {  // --steps has ended the training within an epoch, or before this start
    result->set_accuracy(trainer.validate(classifier, pictures.validation).at("accuracy"));
  }
  if (trainer.session().is_rank_0()) {
    worker::write_pt_file(options.model, worker::to_value(worker::state_dict(*classifier.net)));
    print_elapsed(Clock::now() - begin);
  }
  result->print(trainer.session());
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
