// States of optimizers that no optimizer has made; snapshot_test.cpp has those that one has.
#include "ddprun/optimizer_state.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cstdint>
#include <string>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
namespace optim = torch::optim;
using Dict = c10::impl::GenericDict;

/// An optimizer of one layer, after a step.
template <typename Optimizer, typename Options>
struct Trained {
  explicit Trained(const Options& options) : optimizer(net->parameters(), options) {
    optimizer.step([this] {
      optimizer.zero_grad();
      torch::Tensor loss = net->forward(torch::ones({2, 3})).square().mean();
      loss.backward();
      return loss;
    });
    state = optimizer_state(optimizer);
  }

  [[nodiscard]] Dict group() const {
    return state.toGenericDict().at("param_groups").toListRef()[0].toGenericDict();
  }
  [[nodiscard]] Dict entry(std::int64_t index) const { return entries().at(index).toGenericDict(); }
  [[nodiscard]] Dict entries() const { return state.toGenericDict().at("state").toGenericDict(); }
  [[nodiscard]] std::string error() {
    return error_of([this] { load_optimizer_state(optimizer, state); });
  }

  torch::nn::Linear net{3, 1};
  Optimizer optimizer;
  c10::IValue state;
};

using TrainedLbfgs = Trained<optim::LBFGS, optim::LBFGSOptions>;

TEST_CASE("optimizer state: LBFGS gets no longer history than its options have room for") {
  TrainedLbfgs lbfgs(optim::LBFGSOptions(0.1).max_iter(4));
  CHECK(lbfgs.error().empty());
  const std::size_t remembered = lbfgs.entry(0).at("ro").toListRef().size();
  REQUIRE(remembered > 1);
  lbfgs.group().insert_or_assign("history_size", static_cast<std::int64_t>(remembered));
  CHECK(lbfgs.error().empty());
  lbfgs.group().insert_or_assign("history_size", 1);
  CHECK(contains(lbfgs.error(),
                 "state[0] has more steps in \"old_dirs\" than the \"history_size\" of 1"));
}

TEST_CASE("optimizer state: options that LBFGS could not step with are refused by their value") {
  TrainedLbfgs lbfgs(optim::LBFGSOptions(0.1).max_iter(2));
  lbfgs.group().insert_or_assign("history_size", 1e14);
  CHECK(contains(lbfgs.error(), "has a \"history_size\" of 100000000000000, the most is 1048576"));
  lbfgs.group().insert_or_assign("history_size", 5);
  lbfgs.group().insert_or_assign("line_search_fn", "wolfe\x1b[2J");
  CHECK(contains(lbfgs.error(), "has a \"line_search_fn\" of wolfe?[2J, not strong_wolfe"));
}

TEST_CASE("optimizer state: Adagrad is not left without the state that it began with") {
  Trained<optim::Adagrad, optim::AdagradOptions> adagrad(optim::AdagradOptions(0.1));
  CHECK(adagrad.error().empty());
  static_cast<void>(adagrad.entries().erase(1));
  CHECK(contains(adagrad.error(), "param_groups[0] has no state of parameter 1"));
}

TEST_CASE("optimizer state: a number is whole where it counts, and real everywhere") {
  Trained<optim::Adam, optim::AdamOptions> adam(optim::AdamOptions(0.1));
  adam.entry(0).insert_or_assign("step", 1.5);
  CHECK(contains(adam.error(), "state[0] has a \"step\" that is not a count"));
  adam.entry(0).insert_or_assign("step", 2.0);
  CHECK(adam.error().empty());
  adam.group().insert_or_assign("lr", torch::full({1}, c10::complex<double>(1, 2)));
  CHECK(contains(adam.error(), "param_groups[0] has a \"lr\" that is not a number"));
}

}  // namespace
}  // namespace ddprun::worker
