// ResNet-18 on CIFAR-10: mixed precision, the usual augmentation, a cosine schedule with warm-up,
// an exact evaluation after each epoch, the best model kept, curves for TensorBoard; on all ranks,
// and resumed after a restart. FOLDER has the binary files of
// https://www.cs.toronto.edu/~kriz/cifar.html.
#include "ddprun/batch_loader.hpp"
#include "ddprun/cifar_file.hpp"
#include "ddprun/event_file.hpp"
#include "ddprun/image_transforms.hpp"
#include "ddprun/mean.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/resnet.hpp"
#include "ddprun/run.hpp"
#include "ddprun/session.hpp"
#include "ddprun/tensor_data.hpp"
#include "examples/arguments.hpp"

#include <torch/torch.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;

constexpr const char* usage =
    "cifar10 FOLDER [--epochs 30] [--batch-size 128] [--lr 0.1] [--log runs]";

Tensor normalized(const Tensor& image) {
  return worker::normalize(image, {0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F});
}

/// A DataSet: each picture moved and mirrored at random.
struct TrainingPictures {
  [[nodiscard]] std::int64_t size() const { return images.size(0); }
  [[nodiscard]] worker::Sample get(std::int64_t index, torch::Generator& draws) const {
    const Tensor moved = worker::random_crop(images[index], 32, 4, draws);
    return {normalized(worker::random_horizontal_flip(moved, draws)), labels[index]};
  }

  Tensor images;
  Tensor labels;
};

TrainingPictures training_pictures(const std::string& folder) {
  std::vector<Tensor> images;
  std::vector<Tensor> labels;
  for (int i = 1; i <= 5; ++i) {
    const auto file = worker::read_cifar10(worker::text(folder, "/data_batch_", i, ".bin"));
    images.push_back(file.images);
    labels.push_back(file.labels);
  }
  return {torch::cat(images), torch::cat(labels)};
}

worker::TensorData test_pictures(const std::string& folder, torch::Device device) {
  const auto file = worker::read_cifar10(folder + "/test_batch.bin");
  std::vector<Tensor> images;
  for (const Tensor& image : file.images.unbind()) images.push_back(normalized(image));
  return {torch::stack(images).to(device), file.labels.to(device)};
}

double accuracy(worker::Session& session, worker::ResNet& net, const worker::TensorData& test) {
  worker::Mean right;
  for (const Tensor& samples : session.evaluation(test.size(), 500)) {
    const auto autocast = session.autocast();
    const auto [inputs, labels] = test.batch(samples);
    const Tensor guesses = net->forward(inputs).argmax(1);
    right.add(guesses.eq(labels).sum(), static_cast<double>(samples.numel()));
  }
  return right.over(session.group());
}

void train(const std::vector<std::string>& words) {
  const examples::Arguments arguments(words, {"epochs", "batch-size", "lr", "log"}, usage);
  arguments.expect_words(1);
  const std::int64_t epochs = arguments.count_or("epochs", 30);
  const double all_epochs = static_cast<double>(epochs);
  worker::Session session(
      {.epochs = epochs,
       .batch_size = arguments.count_or("batch-size", 128),
       .precision = torch::kBFloat16,
       .schedule = worker::cosine_schedule({.epochs = all_epochs, .warmup_epochs = 0.5})});
  const auto pictures = training_pictures(arguments.word(0));
  const auto test = test_pictures(arguments.word(0), session.device());
  worker::BatchLoader loader(pictures, {.device = session.device()});

  auto net = worker::resnet18({.classes_count = 10, .small_images = true});
  torch::optim::SGDOptions sgd(arguments.number_or("lr", 0.1));
  worker::SGD optimizer(net->parameters(), sgd.momentum(0.9).weight_decay(5e-4));
  auto parallel = session.prepare(net, optimizer);

  worker::EventFile events;
  if (session.is_rank_0())
    events = worker::EventFile(arguments.text_or("log", "runs"), session.position().step);
  worker::Mean losses;
  for (const worker::Step& step : session.steps(loader)) {
    Tensor loss;
    {
      const auto autocast = session.autocast();
      loss = torch::cross_entropy_loss(parallel(step.batch.inputs), step.batch.targets);
    }
    session.backward(loss);
    session.step();
    losses.add(loss);
    if (!step.ends_epoch) continue;
    const double mean_loss = losses.over(session.group());
    const double score = accuracy(session, net, test);
    session.keep_best(score);
    events.scalar("Loss/train", mean_loss, step.position.step);
    events.scalar("Accuracy/test", score, step.position.step);
    if (session.is_rank_0()) {
      std::cout << worker::text(
          "epoch ", step.position.epoch, ": loss ", mean_loss, ", accuracy ", score, "\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
