#include "worker/parallel/model_agreement.hpp"

#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
namespace nn = torch::nn;
using Build = std::function<nn::Sequential()>;

/// What each of three ranks says when the last one builds `other` and the rest build `common`.
std::vector<std::string> errors_when(const Build& common, const Build& other) {
  std::vector<std::string> errors(3);
  test::run_ranks(3, [&](const Context& context, const ProcessGroup& group) {
    const nn::Sequential net = context.rank == 2 ? other() : common();
    errors[static_cast<std::size_t>(context.rank)] =
        error_of([&] { require_same_model(*net, group); });
  });
  return errors;
}

nn::Sequential small() {
  return nn::Sequential(nn::Linear(4, 8), nn::Linear(8, 1));
}

void check_refused(const Build& common, const Build& other, const std::string& what) {
  const auto errors = errors_when(common, other);
  CAPTURE(errors[0]);
  CHECK(contains(errors[0], "the model differs between ranks: rank 2 has " + what));
  CHECK(contains(errors[0], "; build the same model on every rank"));
  CHECK(errors[1] == errors[0]);
  CHECK(errors[2] == errors[0]);
}

TEST_CASE("model agreement: equal models pass, whatever their values") {
  const auto with_buffers = [] { return nn::Sequential(nn::Linear(2, 2), nn::BatchNorm1d(2)); };
  CHECK(errors_when(small, small) == std::vector<std::string>(3));
  CHECK(errors_when(with_buffers, with_buffers) == std::vector<std::string>(3));
  const auto empty = [] { return nn::Sequential(nn::ReLU()); };
  CHECK(errors_when(empty, empty) == std::vector<std::string>(3));
}

TEST_CASE("model agreement: the rank that differs and its first parameter are named everywhere") {
  check_refused(
      small,
      [] { return nn::Sequential(nn::Linear(4, 9), nn::Linear(9, 1)); },
      "parameter 0.weight [9, 4] Float on cpu where rank 0 has parameter 0.weight [8, 4] Float");
  check_refused(
      small,
      [] { return nn::Sequential(nn::Linear(4, 8)); },
      "nothing more where rank 0 has parameter 1.weight [1, 8] Float on cpu");
  check_refused([] { return nn::Sequential(nn::Linear(4, 8)); },
                small,
                "parameter 1.weight [1, 8] Float on cpu where rank 0 has nothing more");
}

TEST_CASE("model agreement: types, strides, frozen parameters and buffers count too") {
  const auto changed = [](const std::function<void(nn::Sequential&)>& change) {
    return [change] {
      nn::Sequential net = small();
      change(net);
      return net;
    };
  };
  check_refused(small,
                changed([](nn::Sequential& net) { net->to(torch::kDouble); }),
                "parameter 0.weight [8, 4] Double");
  check_refused(
      small,
      changed([](nn::Sequential& net) { net->parameters()[1].set_requires_grad(false); }),
      "frozen parameter 0.bias [8] Float on cpu where rank 0 has parameter 0.bias [8] Float");
  check_refused(small,
                changed([](nn::Sequential& net) {
                  auto weight = net->parameters()[0];
                  weight.set_data(torch::rand({4, 8}).t());
                }),
                "parameter 0.weight [8, 4] Float on cpu with strides [1, 8] where rank 0");
  check_refused(
      [] { return nn::Sequential(nn::ReLU()); },
      [] { return nn::Sequential(nn::BatchNorm1d(nn::BatchNorm1dOptions(3).affine(false))); },
      "buffer 0.running_mean [3] Float on cpu where rank 0 has nothing more");
}

TEST_CASE("model agreement: the wrap refuses models that differ") {
  std::vector<std::string> errors(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    errors[static_cast<std::size_t>(context.rank)] = error_of([&] {
      const nn::Linear net(4, context.rank + 1);
      DistributedDataParallel<nn::Linear> parallel(net, group);
    });
  });
  for (const std::string& error : errors)
    CHECK(contains(error, "rank 1 has parameter weight [2, 4]"));
}

}  // namespace
}  // namespace ddprun::worker
