#include "ddprun/tensor_data.hpp"

#include "ddprun/transformed_data.hpp"
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

TEST_CASE("transformed data: the transform draws after the data have, and targets stay") {
  struct Drawn {
    [[nodiscard]] static std::int64_t size() { return 7; }
    [[nodiscard]] static Sample get(std::int64_t index, torch::Generator& draws) {
      return {torch::rand({1}, draws) + index, torch::tensor(index, torch::kLong)};
    }
  };
  const TransformedData data(Drawn{}, [](const torch::Tensor& input, torch::Generator& generator) {
    return torch::cat({input, torch::rand({1}, generator)});
  });
  static_assert(DataSet<decltype(data)>);
  CHECK(data.size() == 7);
  torch::Generator draws = at::detail::createCPUGenerator(3);
  const auto first = torch::rand({1}, draws);
  const auto second = torch::rand({1}, draws);
  draws.set_current_seed(3);
  const Sample sample = data.get(5, draws);
  CHECK(torch::equal(sample.input, torch::cat({first + 5, second})));
  CHECK(sample.target.item<std::int64_t>() == 5);
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
