#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/error.hpp"
#include "ddprun/join.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

namespace ddprun::worker {
namespace {

/// A layer after a table, whose output is the loss.
struct WordsImpl : torch::nn::Module {
  WordsImpl() {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : parameters()) {
      parameter.copy_(torch::linspace(-0.5, 0.5, parameter.numel()).view_as(parameter));
    }
  }
  torch::Tensor forward(const torch::Tensor& words) {
    return layer(table(words).tanh()).square().mean();
  }

  torch::nn::Linear layer = register_module("layer", torch::nn::Linear(3, 1));
  torch::nn::Embedding table = register_module(
      "table", torch::nn::Embedding(torch::nn::EmbeddingOptions(10, 3).sparse(true)));
};
TORCH_MODULE(Words);

/// (ranks, 4): rows that one rank uses or several, and some of them twice.
torch::Tensor words_of(int step, int world_size) {
  return torch::arange(world_size * 4).mul(step + 1).remainder(7).view({world_size, 4});
}

torch::Tensor values_of(const torch::nn::Module& module) {
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& each : module.parameters()) parts.push_back(each.detach().flatten());
  return torch::cat(parts);
}

template <typename Optimizer, typename Options>
void check_sparse_like_one_process(const Options& options) {
  Words alone;
  Optimizer optimizer_alone(alone->parameters(), options);
  std::vector<torch::Tensor> results(3);
  for (int step = 0; step < 4; ++step) {
    for (auto& parameter : alone->parameters()) parameter.mutable_grad() = torch::Tensor();
    alone(words_of(step, 3)).backward();
    optimizer_alone.step();
  }
  test::run_ranks(3, [&](const Context& context, const ProcessGroup& group) {
    Words net;
    Optimizer optimizer(net->parameters(), options);
    DistributedDataParallel<Words> parallel(net, group, {.verify_every = 1});
    for (int step = 0; step < 4; ++step) {
      parallel.zero_grad();
      parallel(words_of(step, 3)[context.rank]).backward();
      if (!net->table->weight.grad().is_sparse()) throw Error("a gradient that is not sparse");
      optimizer.step();
    }
    results[static_cast<std::size_t>(context.rank)] = values_of(*net);
  });
  for (const torch::Tensor& each : results) CHECK(torch::equal(each, results[0]));
  CHECK((results[0] - values_of(*alone)).abs().max().item<double>() < 1e-6);
}

TEST_CASE("sparse gradients: those of an Embedding are averaged as by one process") {
  check_sparse_like_one_process<torch::optim::SGD>(torch::optim::SGDOptions(0.5));
  check_sparse_like_one_process<torch::optim::Adagrad>(torch::optim::AdagradOptions(0.5));
}

TEST_CASE("sparse gradients: they are refused where they cannot be averaged") {
  test::run_ranks(2, [](const Context&, const ProcessGroup& group) {
    const std::string answer = test::error_of(
        [&] { DistributedDataParallel<Words>(Words(), group, {.compression = torch::kHalf}); });
    if (!test::contains(answer, "the gradient of table.weight is sparse, and cannot")) {
      throw Error("another error: " + answer);
    }
    Words frozen;
    frozen->table->weight.set_requires_grad(false);  // it has no gradient
    DistributedDataParallel<Words>(frozen, group, {.compression = torch::kHalf});
  });
}

TEST_CASE("sparse gradients: a rank without a batch in a Join adds nothing to them") {
  for (const bool finds_unused : {false, true}) {
    std::vector<torch::Tensor> gradients(2);
    test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
      Words net;
      DistributedDataParallel<Words> parallel(net, group, {.find_unused_parameters = finds_unused});
      Join join(parallel);
      for (int step = 0; join.next(context.rank == 1 && step == 0); ++step) {
        context.rank == 1 ? parallel(words_of(0, 1)).backward() : join.shadow();
      }
      gradients[static_cast<std::size_t>(context.rank)] = net->table->weight.grad().to_dense();
    });
    Words alone;
    alone(words_of(0, 1)).backward();
    for (const torch::Tensor& each : gradients) {
      CHECK(torch::allclose(each, alone->table->weight.grad().to_dense() / 2));
    }
  }
}

}  // namespace
}  // namespace ddprun::worker
