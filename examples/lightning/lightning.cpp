// ResNet-18 on CIFAR-100 by a Trainer, a module and a data module, on as many nodes and GPUs as the
// job has. It follows the job that CRUK CI's page on its ROCm cluster runs by Lightning, with a
// checkpoint and an early stop; the page names no network and no data, so these are ours. Three
// repairs: the numbers of nodes and GPUs stand in the script's #SBATCH lines alone, where the page
// needs the same numbers in the program too; after a failure or the time limit the job goes on from
// the newest snapshot, where the page's begins anew; early stop and checkpoint look at pictures
// held out of the training, so that the accuracy on the test pictures has decided nothing.
#include "ddprun/callbacks.hpp"
#include "ddprun/device_usage.hpp"
#include "ddprun/early_stop.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/resnet.hpp"
#include "ddprun/run.hpp"
#include "ddprun/trainer.hpp"
#include "examples/lightning/cifar100_data.hpp"
#include "examples/shared/command_line.hpp"
#include "examples/shared/loss_lines.hpp"
#include "examples/shared/result_line.hpp"
#include "examples/shared/start_weights.hpp"

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;

struct Options {
  examples::JobOptions job{.epochs = 30, .batch_size = 128, .lr = 0.05};
  examples::Cifar100Options data;
  std::string log = "runs";
  std::int64_t patience = 3;
  bool has_small_stem = true;
};

/// False if there is nothing to do.
bool read(Options& options, const std::vector<std::string>& words) {
  auto& [job, data, log, patience, has_small_stem] = options;
  bool leaves_pictures = false;
  bool has_large_stem = false;
  examples::CommandLine line("lightning", "Trains a ResNet-18 on CIFAR-100 by a Trainer.");
  line.add(job);
  line.add_text("copy-to", data.copy_to, "a folder on each node's own disk to copy the data to");
  line.add_text("log", log, "the folder for TensorBoard");
  line.add_count("patience", patience, "ends after this many epochs without a better validation");
  line.add_count("train-images", data.train_images, "uses at most this many for the training", 2);
  line.add_count("test-images", data.test_images, "uses at most this many for the test");
  line.add_flag("no-augmentation", leaves_pictures, "neither moves nor mirrors pictures");
  line.add_flag("large-stem", has_large_stem, "torchvision's first layers: faster, less accurate");
  if (!line.read(words)) return false;
  if (job.synthetic == !job.data.empty()) {
    throw worker::UsageError(
        "give either --data, the folder of CIFAR-100's train.bin and test.bin, or --synthetic");
  }
  data.data = job.data;
  data.seed = job.seed;
  data.augments = !leaves_pictures;
  has_small_stem = !has_large_stem;
  return true;
}

struct Classifier {
  explicit Classifier(const Options& options)
      : net(worker::resnet18({.classes_count = examples::Cifar100Data::classes_count,
                              .small_images = options.has_small_stem})),
        optimizer(net->parameters(),
                  torch::optim::SGDOptions(options.job.lr).momentum(0.9).weight_decay(5e-4)) {}

  Tensor training_step(auto& parallel, const worker::Batch& batch, worker::Metrics& /*metrics*/) {
    return torch::cross_entropy_loss(parallel(batch.inputs), batch.targets);
  }

  void validation_step(const worker::Batch& batch, worker::Metrics& metrics) {
    const Tensor outputs = net->forward(batch.inputs);
    const std::int64_t count = batch.targets.numel();
    metrics.add("loss", count * torch::cross_entropy_loss(outputs, batch.targets), count);
    metrics.add("accuracy", outputs.argmax(1).eq(batch.targets).sum(), count);
  }

  worker::ResNet net;
  worker::SGD optimizer;
};

worker::TrainerOptions trainer_options(const Options& options,
                                       const std::shared_ptr<examples::ResultLine>& result) {
  const char* const metric = "validation/loss";
  const worker::EarlyStopOptions early{.better = worker::Better::lower,
                                       .patience = options.patience};
  return {.session = {.epochs = options.job.epochs,
                      .steps_max = options.job.steps,
                      .batch_size = options.job.batch_size,
                      .seed = options.job.seed,
                      .sampler = {.seed = options.job.seed}},
          .callbacks = {std::make_shared<worker::KeepBest>(metric, worker::Better::lower),
                        std::make_shared<worker::EarlyStop>(metric, early),
                        std::make_shared<worker::Curves>(options.log),
                        std::make_shared<worker::DeviceUsage>(
                            worker::DeviceUsageOptions{.curves = options.log}),
                        std::make_shared<worker::ProgressLines>(),
                        std::make_shared<examples::LossLines>(options.job.losses),
                        result}};
}

void train(const std::vector<std::string>& words) {
  Options options;
  if (!read(options, words)) return;
  const auto result = std::make_shared<examples::ResultLine>();
  worker::Trainer trainer(trainer_options(options, result));
  Classifier classifier(options);
  examples::load_weights(*classifier.net, options.job.weights, trainer.session().group());
  examples::Cifar100Data data(options.data);
  trainer.fit(classifier, data);
  result->set_accuracy(trainer.validate(classifier, data.test_data()).at("accuracy"));
  result->print(trainer.session());
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
