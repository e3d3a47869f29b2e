// Our optimizers, beside Python's bit by bit. Without a Python that has the same version of PyTorch
// as this build, that test only says so.
#include "ddprun/optimizers.hpp"

#include "ddprun/error.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/weights.hpp"
#include "tests/worker/one_thread.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::OneThread;
using test::run_python;
using test::TemporaryFolder;
using torch::Tensor;
namespace nn = torch::nn;
namespace optim = torch::optim;

constexpr int twin_steps_count = 200;  // as in the program in Python below

/// An optimizer of ours, and how Python makes the same one.
struct Twin {
  std::string name;
  std::string python;
  std::function<std::unique_ptr<optim::Optimizer>(const std::vector<Tensor>&)> make;
};

template <typename Optimizer, typename Options>
Twin twin(const std::string& name, const std::string& python, const Options& options) {
  return {name, python, [options](const std::vector<Tensor>& parameters) {
            return std::make_unique<Optimizer>(parameters, options);
          }};
}

std::vector<Twin> twins() {
  return {
      twin<SGD>("sgd", "SGD(p, lr=0.05)", optim::SGDOptions(0.05)),
      twin<SGD>("momentum",
                "SGD(p, lr=0.05, momentum=0.9, dampening=0.1, weight_decay=0.01)",
                optim::SGDOptions(0.05).momentum(0.9).dampening(0.1).weight_decay(0.01)),
      twin<SGD>("nesterov",
                "SGD(p, lr=0.05, momentum=0.9, nesterov=True)",
                optim::SGDOptions(0.05).momentum(0.9).nesterov(true)),
      twin<Adam>("adam", "Adam(p, lr=0.003)", optim::AdamOptions(0.003)),
      twin<Adam>(
          "amsgrad",
          "Adam(p, lr=0.003, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.01, amsgrad=True)",
          optim::AdamOptions(0.003).betas({0.8, 0.95}).eps(1e-6).weight_decay(0.01).amsgrad(true)),
      twin<AdamW>("adamw", "AdamW(p, lr=0.003)", optim::AdamWOptions(0.003)),
      twin<AdamW>("adamw_amsgrad",
                  "AdamW(p, lr=0.003, betas=(0.8, 0.95), weight_decay=0, amsgrad=True)",
                  optim::AdamWOptions(0.003).betas({0.8, 0.95}).weight_decay(0).amsgrad(true)),
      twin<RMSprop>("rmsprop", "RMSprop(p, lr=0.003)", optim::RMSpropOptions(0.003)),
      twin<RMSprop>("centered",
                    "RMSprop(p, lr=0.003, alpha=0.9, eps=1e-6, momentum=0.8, centered=True, "
                    "weight_decay=0.01)",
                    optim::RMSpropOptions(0.003)
                        .alpha(0.9)
                        .eps(1e-6)
                        .momentum(0.8)
                        .centered(true)
                        .weight_decay(0.01)),
  };
}

/// A small network of convolutions. Its parameters have two types. One is larger than a piece on a
/// CPU, and `idle` gets no gradient.
struct SmallNetImpl : nn::Module {
  SmallNetImpl() {
    body->push_back(nn::Conv2d(nn::Conv2dOptions(1, 7, 3)));
    body->push_back(nn::BatchNorm2d(7));
    body->push_back(nn::ReLU());
    body->push_back(nn::Flatten());
    body->push_back(nn::Linear(7 * 36, 301));
    body->push_back(nn::Tanh());
    head->to(torch::kDouble);
    register_module("body", body);
    register_module("head", head);
    register_parameter("idle", idle);
  }
  Tensor loss(const Tensor& images) {
    return head(body->forward(images).to(torch::kDouble)).square().sub(0.5).square().mean();
  }

  nn::Sequential body;
  nn::Linear head{301, 3};
  Tensor idle = torch::ones(5);
};
TORCH_MODULE(SmallNet);

const std::string python_net = R"(
torch.set_num_threads(1)
class SmallNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(1, 7, 3), torch.nn.BatchNorm2d(7), torch.nn.ReLU(), torch.nn.Flatten(),
            torch.nn.Linear(7 * 36, 301), torch.nn.Tanh())
        self.head = torch.nn.Linear(301, 3).double()
        self.idle = torch.nn.Parameter(torch.ones(5))
    def loss(self, images):
        return self.head(self.body(images).double()).square().sub(0.5).square().mean()
)";

SmallNet make_small_net() {
  torch::manual_seed(3);
  return {};
}

Tensor make_images() {
  torch::manual_seed(4);
  return torch::rand({8, 1, 8, 8});
}

void train_small_net(SmallNet& net, optim::Optimizer& optimizer, int steps) {
  const Tensor images = make_images();
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    net->loss(images).backward();
    optimizer.step();
  }
}

/// The first entry of `one` whose bits `other` does not have; empty if there is none.
std::string first_difference(const StateDict& one, const StateDict& other) {
  for (const auto& entry : one) {
    if (torch::equal(entry.value(), other[entry.key()])) continue;
    const Tensor distance = (entry.value() - other[entry.key()]).abs().max();
    return text(entry.key(), " by ", distance.item<double>());
  }
  return "";
}

TEST_CASE("optimizers: after 200 steps parameters are those of Python, bit by bit") {
  const OneThread one;
  const TemporaryFolder folder;
  StateDict start = state_dict(*make_small_net());
  start.insert("images", make_images());
  write_pt_file(folder / "start.pt", to_value(start));
  std::string program = python_net + R"(
print(torch.__version__)
start = torch.load("start.pt")
images = start.pop("images")
def train(name, make):
    net = SmallNet()
    net.load_state_dict(start)
    optimizer = make(list(net.parameters()))
    for step in range(200):
        optimizer.zero_grad()
        net.loss(images).backward()
        optimizer.step()
    torch.save(net.state_dict(), name + ".pt")
)";
  for (const Twin& each : twins()) {
    program += "train(\"" + each.name + "\", lambda p: torch.optim." + each.python + ")\n";
  }
  const auto output = run_python(folder, program);
  if (!output) return;
  if (output->rfind(TORCH_VERSION, 0) != 0) {
    std::puts(("skipped: Python has another PyTorch than " TORCH_VERSION ": " + *output).c_str());
    return;
  }
  for (const Twin& each : twins()) {
    CAPTURE(each.name);
    SmallNet net = make_small_net();
    const auto optimizer = each.make(net->parameters());
    train_small_net(net, *optimizer, twin_steps_count);
    const StateDict theirs = read_weights(folder / (each.name + ".pt"));
    CHECK(first_difference(state_dict(*net), theirs) == "");
  }
}

TEST_CASE("optimizers: a training that goes on from a file changes no bit") {
  const TemporaryFolder folder;
  for (const Twin& each : twins()) {
    CAPTURE(each.name);
    SmallNet whole = make_small_net();
    const auto optimizer = each.make(whole->parameters());
    train_small_net(whole, *optimizer, 3);
    write_pt_file(folder / "model.pt", to_value(state_dict(*whole)));
    write_pt_file(folder / "optimizer.pt", optimizer_state(*optimizer));
    train_small_net(whole, *optimizer, 3);

    SmallNet resumed = make_small_net();
    const StateDict saved = read_weights(folder / "model.pt");
    load_state_dict(*resumed, saved);
    const auto other = each.make(resumed->parameters());
    other->param_groups()[0].options().set_lr(7);
    load_optimizer_state(*other, read_pt_file(folder / "optimizer.pt"));
    train_small_net(resumed, *other, 3);
    CHECK(first_difference(state_dict(*whole), state_dict(*resumed)) == "");
  }
}

/// A parameter with a gradient, both always the same for one shape.
Tensor make_parameter(torch::IntArrayRef shape) {
  torch::manual_seed(5);
  Tensor parameter = torch::randn(shape).requires_grad_();
  parameter.mutable_grad() = torch::randn(shape);
  return parameter;
}

TEST_CASE("optimizers: neither the number of threads nor the order in memory changes a bit") {
  const OneThread one;
  for (const Twin& each : twins()) {
    CAPTURE(each.name);
    const Tensor plain = make_parameter({7, 100, 15, 15});
    const Tensor threaded = make_parameter({7, 100, 15, 15});
    const Tensor reordered = make_parameter({7, 100, 15, 15});
    reordered.mutable_grad() = reordered.grad().contiguous(torch::MemoryFormat::ChannelsLast);
    const auto steps = [&](const Tensor& parameter) {
      const auto optimizer = each.make({parameter});
      for (int i = 0; i < 3; ++i) optimizer->step();
    };
    steps(plain);
    steps(reordered);
    torch::set_num_threads(3);
    steps(threaded);
    torch::set_num_threads(1);
    CHECK(torch::equal(plain, threaded));
    CHECK(torch::equal(plain, reordered));
  }
}

TEST_CASE("optimizers: a closure runs with gradients, and its loss is returned") {
  const torch::NoGradGuard no_grad;  // as around the step of some programs
  for (const Twin& each : twins()) {
    CAPTURE(each.name);
    const Tensor parameter = make_parameter({4});
    const Tensor before = parameter.clone();
    const auto optimizer = each.make({parameter});
    const Tensor loss = optimizer->step([&] {
      optimizer->zero_grad();
      Tensor sum = (parameter * parameter).sum();
      sum.backward();
      return sum;
    });
    CHECK(torch::equal(loss, (before * before).sum()));
    CHECK(torch::equal(parameter.grad(), before * 2));
    CHECK_FALSE(torch::equal(parameter, before));
    CHECK_FALSE(optimizer->step().defined());
  }
}

TEST_CASE("optimizers: a parameter that a group names twice is changed once") {
  for (const Twin& each : twins()) {
    CAPTURE(each.name);
    const Tensor once = make_parameter({4});
    const Tensor twice = make_parameter({4});
    each.make({once})->step();
    each.make({twice, twice})->step();
    CHECK(torch::equal(once, twice));
  }
}

TEST_CASE("optimizers: a backward pass through values that a step has changed is an error") {
  for (const Twin& each : twins()) {
    CAPTURE(each.name);
    const Tensor parameter = make_parameter({70000});  // two pieces
    const Tensor loss = (parameter * parameter).sum();
    each.make({parameter})->step();
    CHECK(contains(error_of([&] { loss.backward(); }), "modified by an inplace operation"));
  }
}

TEST_CASE("optimizers: a sparse gradient or a complex parameter is refused, nothing changed") {
  for (const Twin& each : twins()) {
    CAPTURE(each.name);
    const Tensor first = make_parameter({2, 3});
    const Tensor before = first.detach().clone();
    Tensor sparse = make_parameter({2, 2});
    sparse.mutable_grad() = sparse.grad().to_sparse();
    Tensor complex = torch::zeros({2}, torch::kComplexFloat).requires_grad_();
    complex.mutable_grad() = torch::ones({2}, torch::kComplexFloat);
    CHECK(contains(error_of([&] { each.make({first, sparse})->step(); }), "gradient is sparse"));
    CHECK(contains(error_of([&] { each.make({first, complex})->step(); }), "it is complex"));
    CHECK(torch::equal(first, before));
  }
}

}  // namespace
}  // namespace ddprun::worker
