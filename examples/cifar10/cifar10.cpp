// ResNet-18 on CIFAR-10: mixed precision, the usual augmentation, a cosine schedule with warm-up,
// an exact evaluation after each epoch, the best model kept, curves for TensorBoard; on all ranks,
// and resumed after a restart. FOLDER has the binary files of
// https://www.cs.toronto.edu/~kriz/cifar.html.
#include "ddprun/callbacks.hpp"
#include "ddprun/cifar_file.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/resnet.hpp"
#include "ddprun/run.hpp"
#include "ddprun/tensor_data.hpp"
#include "ddprun/trainer.hpp"
#include "ddprun/transformed_data.hpp"
#include "examples/shared/command_line.hpp"

#include <torch/torch.h>

#include <string>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;

Tensor normalized(const Tensor& image, torch::Generator& /*draws*/) {
  return worker::normalize(image, {0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F});
}

Tensor augmented(const Tensor& image, torch::Generator& draws) {
  const Tensor moved = worker::random_crop(image, 32, 4, draws);
  return normalized(worker::random_horizontal_flip(moved, draws), draws);
}

auto pictures(const worker::Cifar& file, const worker::Transform& transform) {
  return worker::TransformedData(worker::TensorData(file.images, file.labels), transform);
}

struct Classifier {
  explicit Classifier(double lr)
      : optimizer(net->parameters(),
                  torch::optim::SGDOptions(lr).momentum(0.9).weight_decay(5e-4)) {}

  Tensor training_step(auto& parallel, const worker::Batch& batch, worker::Metrics& /*metrics*/) {
    return torch::cross_entropy_loss(parallel(batch.inputs), batch.targets);
  }

  void validation_step(const worker::Batch& batch, worker::Metrics& metrics) {
    const Tensor guesses = net->forward(batch.inputs).argmax(1);
    metrics.add("accuracy", guesses.eq(batch.targets).sum(), batch.targets.numel());
  }

  worker::ResNet net = worker::resnet18({.classes_count = 10, .small_images = true});
  worker::SGD optimizer;
};

void train(const std::vector<std::string>& words) {
  std::string folder;
  std::string log = "runs";
  std::int64_t epochs = 30;
  std::int64_t batch_size = 128;
  double lr = 0.1;
  examples::CommandLine line("cifar10 FOLDER", "Trains a ResNet-18 on CIFAR-10.");
  line.add_text("data", folder, "the folder of its binary files");
  line.add_text("log", log, "the folder for TensorBoard");
  line.add_count("epochs", epochs, "how often each picture is seen");
  line.add_count("batch-size", batch_size, "pictures of each rank in a step");
  line.add_number("lr", lr, "learning rate");
  line.add_words({"data"});
  if (!line.read(words)) return;
  const double all_epochs = static_cast<double>(epochs);
  worker::Trainer trainer({.session = {.epochs = epochs,
                                       .batch_size = batch_size,
                                       .precision = torch::kBFloat16,
                                       .schedule = worker::cosine_schedule(
                                           {.epochs = all_epochs, .warmup_epochs = 0.5})},
                           .validation_batch_size = 500,
                           .callbacks = {std::make_shared<worker::KeepBest>("validation/accuracy"),
                                         std::make_shared<worker::Curves>(log),
                                         std::make_shared<worker::ProgressLines>()}});
  const auto files = worker::read_cifar10_folder(folder);
  Classifier classifier(lr);
  trainer.fit(classifier, pictures(files.training, augmented), pictures(files.test, normalized));
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
