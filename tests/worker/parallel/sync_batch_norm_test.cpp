#include "ddprun/sync_batch_norm.hpp"

#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/error.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/resnet.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

namespace ddprun::worker {
namespace {

namespace nn = torch::nn;
using torch::Tensor;

/// Everything that a training step of a norm shows.
struct NormStep {
  Tensor output, of_input, of_weight, of_bias;
  std::vector<Tensor> buffers;
};

Tensor drawn(torch::IntArrayRef shape, std::uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), torch::kDouble);
}

template <typename Norm>
NormStep step_of(Norm norm, const Tensor& batch, const Tensor& factors) {
  if (norm->weight.defined()) {
    const torch::NoGradGuard no_grad;
    norm->weight.copy_(torch::linspace(0.5, 2, norm->weight.numel()));
    norm->bias.copy_(torch::linspace(-1, 1, norm->bias.numel()));
  }
  NormStep step;
  const Tensor input = batch.clone().requires_grad_();
  for (int i = 0; i < 2; ++i) step.output = norm->forward(input);  // the second for the buffers
  (step.output * factors).sum().backward();
  step.of_input = input.grad();
  if (norm->weight.defined()) step.of_weight = norm->weight.grad();
  if (norm->weight.defined()) step.of_bias = norm->bias.grad();
  for (const Tensor& buffer : norm->buffers()) step.buffers.push_back(buffer.clone());
  return step;
}

void check_close(const Tensor& one, const Tensor& other, double tolerance) {
  REQUIRE(one.sizes() == other.sizes());
  CHECK((one - other).abs().max().item<double>() <= tolerance);
}

/// Compares three ranks, which have the rows before these ends, with a BatchNorm over all rows.
template <typename Norm>
void check_like_one_batch(const nn::BatchNormOptions& options,
                          const Tensor& batch,
                          const std::vector<std::int64_t>& ends,
                          double tolerance) {
  const Tensor factors = drawn(batch.sizes(), 2).to(batch.scalar_type());
  const auto type = batch.scalar_type();
  Norm whole(options);
  whole->to(type);
  const NormStep alone = step_of(whole, batch, factors);
  std::vector<NormStep> ranks(3);
  test::run_ranks(3, [&](const Context& context, const ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const std::int64_t begin = rank == 0 ? 0 : ends[rank - 1];
    SyncBatchNorm norm(options, group);
    norm->to(type);
    ranks[rank] =
        step_of(norm, batch.slice(0, begin, ends[rank]), factors.slice(0, begin, ends[rank]));
  });
  const auto joined = [&](Tensor NormStep::*part) {
    return torch::cat({ranks[0].*part, ranks[1].*part, ranks[2].*part});
  };
  check_close(joined(&NormStep::output), alone.output, tolerance);
  check_close(joined(&NormStep::of_input), alone.of_input, tolerance);
  if (options.affine()) {
    const auto sum = [&](Tensor NormStep::*part) {
      return ranks[0].*part + ranks[1].*part + ranks[2].*part;
    };
    check_close(sum(&NormStep::of_weight), alone.of_weight, 10 * tolerance);
    check_close(sum(&NormStep::of_bias), alone.of_bias, 10 * tolerance);
  }
  for (const NormStep& each : ranks) {
    REQUIRE(each.buffers.size() == alone.buffers.size());
    for (std::size_t i = 0; i < each.buffers.size(); ++i) {
      check_close(each.buffers[i], alone.buffers[i], tolerance);
    }
  }
}

TEST_CASE("SyncBatchNorm: ranks have the values and gradients of one BatchNorm over all samples") {
  const Tensor images = drawn({12, 5, 4, 3}, 1) * 3 + 7;
  for (const std::vector<std::int64_t>& ends :
       {std::vector<std::int64_t>{4, 8, 12}, {1, 10, 12}, {0, 11, 12}, {12, 12, 12}}) {
    check_like_one_batch<nn::BatchNorm2d>(5, images, ends, 1e-12);
    check_like_one_batch<nn::BatchNorm2d>(5, images.to(torch::kFloat), ends, 1e-5);
  }
  const Tensor rows = drawn({12, 5}, 3);
  const std::vector<std::int64_t> ends{3, 4, 12};
  check_like_one_batch<nn::BatchNorm1d>(5, rows, ends, 1e-12);
  check_like_one_batch<nn::BatchNorm1d>(
      nn::BatchNormOptions(5).affine(false).eps(0.1), rows, ends, 1e-12);
  check_like_one_batch<nn::BatchNorm1d>(
      nn::BatchNormOptions(5).momentum(c10::nullopt), rows, ends, 1e-12);
  check_like_one_batch<nn::BatchNorm1d>(
      nn::BatchNormOptions(5).track_running_stats(false), rows, ends, 1e-12);
}

TEST_CASE("SyncBatchNorm: an evaluation needs no other rank, and has BatchNorm's values") {
  const Tensor images = drawn({2, 3, 2, 2}, 4).to(torch::kFloat);
  nn::BatchNorm2d alone(3);
  (void)alone(images);
  alone->eval();
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    SyncBatchNorm norm(3, group);
    load_state_dict(*norm, state_dict(*alone));
    norm->eval();
    if (context.rank == 1) return;
    if (!torch::equal(norm(images), alone(images))) throw Error("other values");
  });
}

TEST_CASE("SyncBatchNorm: one value for each channel on all ranks is refused by all of them") {
  std::vector<std::string> errors(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    SyncBatchNorm norm(3, group);
    errors[static_cast<std::size_t>(context.rank)] = test::error_of([&] {
      (void)norm(torch::ones({context.rank, 3}));
    });
    (void)norm(torch::ones({1, 3}));  // two, one on each rank
  });
  CHECK(errors[0] ==
        "SyncBatchNorm got 1 values for each channel from all ranks together, which have no "
        "variance; give it two or more, or call eval()");
  CHECK(errors[1] == errors[0]);
}

TEST_CASE("SyncBatchNorm: shapes that do not fit, and second derivatives, are refused") {
  test::run_ranks(1, [](const Context&, const ProcessGroup& group) {
    SyncBatchNorm norm(3, group);
    const auto of_shape = [&](std::vector<std::int64_t> shape) {
      return test::error_of([&] { (void)norm(torch::ones(shape)); });
    };
    CHECK(test::contains(of_shape({3}), "of 3 channels got an input of shape [3]; give it (N, C)"));
    CHECK(test::contains(of_shape({2, 4}), "got an input of shape [2, 4]"));
    const Tensor input = torch::arange(6.0).reshape({2, 3}).requires_grad_();
    const Tensor sum = norm(input).square().sum();
    CHECK(test::contains(
        test::error_of([&] { (void)torch::autograd::grad({sum}, {input}, {}, {}, true); }),
        "SyncBatchNorm has no second derivative"));
  });
}

TEST_CASE("SyncBatchNorm: a ResNet with it trains on two ranks as one with BatchNorm on one") {
  const Tensor images = drawn({4, 3, 8, 8}, 5);  // float64, as four values have a coarse norm
  const auto trained = [&](ResNet net, const Tensor& own, auto forward) {
    torch::optim::SGD optimizer(net->parameters(), 0.01);
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      forward(own).square().mean().backward();
      optimizer.step();
    }
    return net;
  };
  ResNetOptions options{.classes_count = 2, .small_images = true};
  ResNet alone = resnet18(options);
  alone->to(torch::kDouble);
  const auto initial = state_dict(*alone);
  std::vector<ResNet> ranks{ResNet(nullptr), ResNet(nullptr)};
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    ResNetOptions own = options;
    own.norm_layer = [&](std::int64_t channels) {
      return nn::AnyModule(SyncBatchNorm(channels, group));
    };
    ResNet net = resnet18(own);
    net->to(torch::kDouble);
    load_state_dict(*net, initial);
    DistributedDataParallel<ResNet> parallel(net, group);
    ranks[static_cast<std::size_t>(context.rank)] = trained(
        net, images.narrow(0, 2 * context.rank, 2), [&](const Tensor& x) { return parallel(x); });
  });
  (void)trained(alone, images, [&](const Tensor& x) { return alone(x); });
  const auto expected = state_dict(*alone);
  for (const ResNet& net : ranks) {
    for (const auto& entry : state_dict(*net)) {
      CAPTURE(entry.key());
      check_close(entry.value(), expected[entry.key()], 1e-9);
    }
  }
}

}  // namespace
}  // namespace ddprun::worker
