// The losses of a training by this runtime beside those of the same training by Python: the same
// initial weights, batches and numbers of threads. PARITY_STEPS says how many steps; with 200 it
// takes some minutes.
#include "ddprun/error.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/resnet.hpp"
#include "ddprun/session.hpp"
#include "ddprun/weights.hpp"
#include "tests/worker/one_thread.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using test::TemporaryFolder;
using torch::Tensor;
namespace nn = torch::nn;
namespace optim = torch::optim;

constexpr std::int64_t parity_batch_size = 8;
constexpr int short_steps_count = 5;
constexpr double loss_difference_max = 1e-4;

std::int64_t parity_steps_count() {
  const char* const chosen = std::getenv("PARITY_STEPS");
  return chosen != nullptr ? std::atoll(chosen) : short_steps_count;
}

/// The network of examples/fashion_mnist without dropout, which draws.
nn::Sequential fashion_net() {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 32, 3)),
                        nn::ReLU(),
                        nn::Conv2d(nn::Conv2dOptions(32, 64, 3)),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Flatten(),
                        nn::Linear(9216, 128),
                        nn::ReLU(),
                        nn::Linear(128, 10));
}

const std::string python_part = R"(
import sys, torch
from torch import nn
torch.set_num_threads(1)

class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))

class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        sizes = [64, 64, 128, 256, 512]
        for i in range(1, 5):
            first = Block(sizes[i - 1], sizes[i], 1 if i == 1 else 2)
            setattr(self, f"layer{i}", nn.Sequential(first, Block(sizes[i], sizes[i], 1)))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, 10)
    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))

def fashion_net():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))

def train(net, make):
    data = torch.load("data.pt")
    net.load_state_dict(torch.load("start.pt"))
    optimizer = make(net.parameters())
    for inputs, labels in zip(data["inputs"], data["labels"]):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(inputs), labels)
        loss.backward()
        optimizer.step()
        print(loss.item().hex())

print(torch.__version__)
)";

struct Algorithm {
  std::string python;
  std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor>)> make;
};

std::vector<Algorithm> algorithms() {
  const auto sgd = optim::SGDOptions(0.05).momentum(0.9).weight_decay(5e-4);
  const auto rms = optim::RMSpropOptions(1e-3);
  return {
      {"SGD(p, 0.05, momentum=0.9, weight_decay=5e-4)",
       [=](std::vector<Tensor> p) { return std::make_unique<SGD>(std::move(p), sgd); }},
      {"Adam(p, 1e-3)",
       [](std::vector<Tensor> p) { return std::make_unique<Adam>(std::move(p), 1e-3); }},
      {"AdamW(p, 1e-3)",
       [](std::vector<Tensor> p) { return std::make_unique<AdamW>(std::move(p), 1e-3); }},
      {"RMSprop(p, 1e-3)",
       [=](std::vector<Tensor> p) { return std::make_unique<RMSprop>(std::move(p), rms); }},
  };
}

/// The losses of a Session's steps from start.pt on the batches of data.pt.
template <typename Net>
std::vector<double> session_losses(const TemporaryFolder& folder,
                                   Net net,
                                   const Algorithm& algorithm) {
  const auto data = read_pt_file(folder / "data.pt").toGenericDict();
  const Tensor inputs = data.at("inputs").toTensor();
  const Tensor labels = data.at("labels").toTensor();
  const StateDict start = read_weights(folder / "start.pt");
  load_state_dict(*net, start);
  Context context;
  const TemporaryFolder snapshots;
  context.snapshot = snapshots / "snapshot.pt";
  Session session({.batch_size = 1, .sampler = {.shuffle = false}}, context);
  const auto optimizer = algorithm.make(net->parameters());
  auto parallel = session.prepare(net, *optimizer);
  std::vector<double> losses;
  for (const Step& step : session.steps(inputs.size(0))) {
    const auto i = step.position.step;
    const Tensor loss = torch::cross_entropy_loss(parallel(inputs[i]), labels[i]);
    losses.push_back(loss.item<double>());
    session.backward(loss);
    session.step();
  }
  return losses;
}

/// Compares each algorithm with Python's, from the weights of a net that `make` makes.
template <typename Make>
void compare_with_python(const std::string& net_in_python,
                         std::vector<std::int64_t> sample_shape,
                         Make make) {
  const test::OneThread one;
  const TemporaryFolder folder;
  torch::manual_seed(11);
  write_pt_file(folder / "start.pt", to_value(state_dict(*make())));
  const std::int64_t steps = parity_steps_count();
  c10::Dict<std::string, Tensor> data;
  sample_shape.insert(sample_shape.begin(), {steps, parity_batch_size});
  data.insert("inputs", torch::randn(sample_shape));
  data.insert("labels", torch::randint(10, {steps, parity_batch_size}, torch::kLong));
  write_pt_file(folder / "data.pt", data);
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(algorithm.python);
    const auto output = test::run_python(folder,
                                         python_part + "train(" + net_in_python +
                                             ", lambda p: torch.optim." + algorithm.python + ")\n");
    if (!output) break;
    std::istringstream lines(*output);
    std::string line;
    std::getline(lines, line);
    const bool is_same_version = line.starts_with(TORCH_VERSION);
    const std::vector<double> ours = session_losses(folder, make(), algorithm);
    std::int64_t equal_count = 0;
    double difference_max = 0;
    for (const double loss : ours) {
      REQUIRE(std::getline(lines, line));
      const double difference = std::abs(std::strtod(line.c_str(), nullptr) - loss);
      difference_max = std::max(difference_max, difference);
      equal_count += difference == 0 ? 1 : 0;
    }
    MESSAGE(net_in_python << ", " << algorithm.python << ": " << equal_count << " of " << steps
                          << " losses have the same bits, the largest difference is "
                          << difference_max);
    CHECK(std::ssize(ours) == steps);
    if (is_same_version) CHECK(difference_max <= loss_difference_max);
  }
}

TEST_CASE("parity: the losses of a ResNet-18 are those of Python") {
  compare_with_python("ResNet18()", {3, 32, 32}, [] {
    return resnet18({.classes_count = 10, .small_images = true});
  });
}

TEST_CASE("parity: the losses of Fashion-MNIST's network are those of Python") {
  compare_with_python("fashion_net()", {1, 28, 28}, fashion_net);
}

}  // namespace
}  // namespace ddprun::worker
