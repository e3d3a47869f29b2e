// Optimizers that change hands: one language trains, the other goes on. Without a Python that has
// PyTorch these tests only say so.
#include "ddprun/optimizer_state.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/snapshot.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <memory>

namespace ddprun::worker {
namespace {

using test::run_python;
using test::TemporaryFolder;
using torch::Tensor;
namespace nn = torch::nn;
namespace optim = torch::optim;

constexpr int steps_each = 3;  // before and after the change of hands

/// An optimizer that both languages have. Its name in Python, with what makes it there.
struct Kind {
  std::string name;
  std::string python;
  std::function<std::unique_ptr<optim::Optimizer>(const std::vector<Tensor>&)> make;
};

template <typename Optimizer, typename Options>
Kind kind(const std::string& name, const std::string& python, const Options& options) {
  return {name, python, [options](const std::vector<Tensor>& parameters) {
            return std::make_unique<Optimizer>(parameters, options);
          }};
}

std::vector<Kind> kinds() {
  using namespace optim;
  return {
      kind<SGD>("sgd", "SGD(p, lr=0.1)", SGDOptions(0.1)),
      kind<SGD>("momentum",
                "SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01)",
                SGDOptions(0.1).momentum(0.9).dampening(0.1).weight_decay(0.01)),
      kind<SGD>("nesterov",
                "SGD(p, lr=0.1, momentum=0.9, nesterov=True)",
                SGDOptions(0.1).momentum(0.9).nesterov(true)),
      kind<Adam>("adam",
                 "Adam(p, lr=0.05, betas=(0.8, 0.95), weight_decay=0.01)",
                 AdamOptions(0.05).betas({0.8, 0.95}).weight_decay(0.01)),
      kind<Adam>("amsgrad", "Adam(p, lr=0.05, amsgrad=True)", AdamOptions(0.05).amsgrad(true)),
      kind<AdamW>("adamw",
                  "AdamW(p, lr=0.05, weight_decay=0.1, eps=1e-6)",
                  AdamWOptions(0.05).weight_decay(0.1).eps(1e-6)),
      kind<RMSprop>("rmsprop", "RMSprop(p, lr=0.01)", RMSpropOptions(0.01)),
      kind<RMSprop>(
          "centered",
          "RMSprop(p, lr=0.01, alpha=0.8, momentum=0.9, centered=True, weight_decay=0.01)",
          RMSpropOptions(0.01).alpha(0.8).momentum(0.9).centered(true).weight_decay(0.01)),
      kind<Adagrad>("adagrad",
                    "Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2)",
                    AdagradOptions(0.1).lr_decay(0.1).initial_accumulator_value(0.2)),
      kind<LBFGS>("lbfgs",
                  "LBFGS(p, lr=0.5, max_iter=2, history_size=3)",
                  LBFGSOptions(0.5).max_iter(2).history_size(3)),
  };
}

/// The same network, data and steps in Python.
std::string python_program() {
  std::string program = R"(
import torch
def net():
    made = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    with torch.no_grad():
        for p in made.parameters():
            p.copy_((torch.arange(p.numel()) * 0.125 - 0.25).view_as(p))
    return made
def steps(net, optimizer):
    def closure():
        optimizer.zero_grad()
        out = net((torch.arange(24.) * 0.0625 - 0.75).view(8, 3))
        loss = ((out - 0.5) ** 2).mean()
        loss.backward()
        return loss
    for _ in range(3):
        optimizer.step(closure)
def save(net, optimizer, name):
    torch.save({"MODEL_STATE": net.state_dict(), "OPTIMIZER_STATE": optimizer.state_dict()}, name)
old = torch.__version__.startswith("1.")
def load(name):
    return torch.load(name, weights_only=not old)
kinds = {
)";
  for (const Kind& each : kinds()) {
    program += "    \"" + each.name + "\": lambda p: torch.optim." + each.python + ",\n";
  }
  return program + "}\n";
}

nn::Sequential make_net() {
  nn::Sequential net(nn::Linear(3, 4), nn::Tanh(), nn::Linear(4, 1));
  const torch::NoGradGuard no_grad;
  for (auto& parameter : net->parameters()) {
    parameter.copy_((torch::arange(parameter.numel()) * 0.125 - 0.25).view_as(parameter));
  }
  return net;
}

void take_steps(nn::Sequential& net, optim::Optimizer& optimizer) {
  const auto closure = [&] {
    optimizer.zero_grad();
    const Tensor input = (torch::arange(24, torch::kFloat) * 0.0625 - 0.75).view({8, 3});
    Tensor loss = (net->forward(input) - 0.5).square().mean();
    loss.backward();
    return loss;
  };
  for (int i = 0; i < steps_each; ++i) optimizer.step(closure);
}

bool close(const nn::Sequential& net, const StateDict& other) {
  const StateDict own = state_dict(*net);
  for (const auto& named : own) {
    const Tensor* found = other.find(named.key());
    if (found == nullptr || !torch::allclose(named.value(), *found, 1e-6, 1e-7)) return false;
  }
  return own.size() == other.size();
}

Snapshot read(const std::filesystem::path& path) {
  return from_value(read_pt_file(path));
}

TEST_CASE("interoperation: C++ goes on with an optimizer of Python as Python would") {
  const TemporaryFolder folder;
  const auto output = run_python(folder, python_program() + R"(
for name, make in kinds.items():
    trained = net()
    optimizer = make(trained.parameters())
    save(trained, optimizer, name + ".new.pt")
    steps(trained, optimizer)
    save(trained, optimizer, name + ".half.pt")
    steps(trained, optimizer)
    save(trained, optimizer, name + ".whole.pt")
)");
  if (!output) return;
  REQUIRE(*output == "");
  for (const Kind& each : kinds()) {
    CAPTURE(each.name);
    for (const auto& [from, to] : {std::pair(".new.pt", ".half.pt"), {".half.pt", ".whole.pt"}}) {
      const Snapshot begun = read(folder / (each.name + from));
      nn::Sequential net = make_net();
      const auto optimizer = each.make(net->parameters());
      load_state_dict(*net, begun.model_state);
      load_optimizer_state(*optimizer, begun.optimizer_state);
      take_steps(net, *optimizer);
      CHECK(close(net, read(folder / (each.name + to)).model_state));
    }
  }
}

TEST_CASE("interoperation: Python goes on with an optimizer of C++ as C++ would, and back") {
  const TemporaryFolder folder;
  std::vector<nn::Sequential> nets;
  std::vector<std::unique_ptr<optim::Optimizer>> optimizers;
  for (const Kind& each : kinds()) {
    nets.push_back(make_net());
    optimizers.push_back(each.make(nets.back()->parameters()));
    take_steps(nets.back(), *optimizers.back());
    Snapshot snapshot;
    snapshot.model_state = state_dict(*nets.back());
    snapshot.optimizer_state = optimizer_state(*optimizers.back());
    write_pt_file(folder / (each.name + ".pt"), to_value(snapshot));
    take_steps(nets.back(), *optimizers.back());
  }
  // Its optimizers begin with other options, so that these come from the file too.
  const auto output = run_python(folder, python_program() + R"(
for name, make in kinds.items():
    begun = load(name + ".pt")
    resumed = net()
    optimizer = type(make(resumed.parameters()))(resumed.parameters(), lr=0.7)
    resumed.load_state_dict(begun["MODEL_STATE"])
    optimizer.load_state_dict(begun["OPTIMIZER_STATE"])
    steps(resumed, optimizer)
    save(resumed, optimizer, name + ".back.pt")
)");
  if (!output) return;
  REQUIRE(*output == "");
  const auto all = kinds();
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].name);
    const Snapshot back = read(folder / (all[i].name + ".back.pt"));
    CHECK(close(nets[i], back.model_state));
    nn::Sequential resumed = make_net();
    const auto optimizer = all[i].make(resumed->parameters());
    load_state_dict(*resumed, back.model_state);
    load_optimizer_state(*optimizer, back.optimizer_state);
    take_steps(resumed, *optimizer);
    take_steps(nets[i], *optimizers[i]);
    CHECK(close(nets[i], state_dict(*resumed)));
  }
}

}  // namespace
}  // namespace ddprun::worker
