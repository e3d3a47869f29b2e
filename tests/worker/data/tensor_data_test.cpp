#include "ddprun/tensor_data.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;

TEST_CASE("tensor data: a batch has the samples that were asked for, in that order") {
  const auto inputs = torch::arange(12, torch::kFloat).reshape({4, 3});
  const auto targets = torch::tensor({10, 11, 12, 13}, torch::kLong);
  const TensorData data(inputs, targets);
  CHECK(data.size() == 4);
  const Batch batch = data.batch(torch::tensor({3, 0, 3}, torch::kLong));
  CHECK(torch::equal(batch.inputs, torch::stack({inputs[3], inputs[0], inputs[3]})));
  CHECK(torch::equal(batch.targets, torch::tensor({13, 10, 13}, torch::kLong)));
  torch::Generator draws = at::detail::createCPUGenerator();
  CHECK(torch::equal(data.get(2, draws).input, inputs[2]));
  CHECK(data.get(2, draws).target.item<std::int64_t>() == 12);
}

TEST_CASE("tensor data: inputs and targets that do not belong together are refused") {
  const auto error_for = [](const torch::Tensor& inputs, const torch::Tensor& targets) {
    return error_of([&] { const TensorData data(inputs, targets); });
  };
  CHECK(contains(error_for(torch::zeros({4, 3}), torch::zeros({3})), "[4, 3]"));
  CHECK(contains(error_for(torch::zeros({}), torch::zeros({})), "are no data set"));
  CHECK(contains(error_for(torch::zeros({0, 3}), torch::zeros({0})), "are no data set"));
}

}  // namespace
}  // namespace ddprun::worker
