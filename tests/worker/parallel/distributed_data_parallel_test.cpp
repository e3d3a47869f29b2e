#include "ddprun/distributed_data_parallel.hpp"

#include "ddprun/error.hpp"
#include "ddprun/module_state.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <mutex>

namespace ddprun::worker {
namespace {

namespace nn = torch::nn;
using torch::Tensor;

constexpr std::int64_t batch_size = 8;  // of each rank
constexpr int steps_count = 20;

/// All parameters of the model in one row.
Tensor flat(const nn::Module& module) {
  std::vector<Tensor> parts;
  for (const auto& named : state_dict(module)) {
    parts.push_back(named.value().to(torch::kFloat).flatten());
  }
  return torch::cat(parts).clone();
}

nn::Sequential make_net(std::uint64_t seed) {
  static std::mutex seeding;  // ranks are threads here and share one generator
  const std::lock_guard lock(seeding);
  torch::manual_seed(seed);
  return nn::Sequential(nn::Linear(20, 64), nn::ReLU(), nn::Linear(64, 1));
}

Tensor joint_batch(int step, int world_size) {
  auto generator = at::detail::createCPUGenerator(1000 + static_cast<std::uint64_t>(step));
  return at::randn({world_size * batch_size, 20}, generator);
}

Tensor loss_of(const Tensor& output, const Tensor& input) {
  return torch::mse_loss(output, input.sum(1, true) * 0.1 + 0.5);
}

Tensor trained_alone(int world_size) {
  nn::Sequential net = make_net(7);  // rank 0's
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int step = 0; step < steps_count; ++step) {
    optimizer.zero_grad();
    const Tensor input = joint_batch(step, world_size);
    loss_of(net->forward(input), input).backward();
    optimizer.step();
  }
  return flat(*net);
}

/// The parameters of each rank after the same steps, each on its part of the batch, cut into
/// `pieces_count` of which only the last is synchronised.
std::vector<Tensor> trained_together(int world_size, std::int64_t pieces_count) {
  std::vector<Tensor> result(static_cast<std::size_t>(world_size));
  test::run_ranks(world_size, [&](const Context& context, const ProcessGroup& group) {
    const int rank = context.rank;
    nn::Sequential net = make_net(7 + static_cast<std::uint64_t>(rank));
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    // Buckets so small that there are several of them.
    DistributedDataParallel<nn::Sequential> parallel(
        net, group, {.bucket_bytes = 4096, .first_bucket_bytes = 256});
    for (int step = 0; step < steps_count; ++step) {
      parallel.zero_grad();
      const auto pieces = joint_batch(step, world_size)
                              .narrow(0, rank * batch_size, batch_size)
                              .chunk(pieces_count);
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
        const auto local = parallel.no_sync();
        (loss_of(parallel(pieces[i]), pieces[i]) / pieces_count).backward();
      }
      (loss_of(parallel(pieces.back()), pieces.back()) / pieces_count).backward();
      optimizer.step();
    }
    result[static_cast<std::size_t>(rank)] = flat(*net);
  });
  return result;
}

TEST_CASE("DDP: ranks stay equal, and equal to one process on the joint batch") {
  for (const int world_size : {1, 2, 3}) {
    const Tensor alone = trained_alone(world_size);
    const std::vector<Tensor> ranks = trained_together(world_size, 1);
    for (const Tensor& each : ranks) CHECK(torch::equal(each, ranks[0]));
    CHECK((ranks[0] - alone).abs().max().item<double>() < 1e-6);
  }
}

TEST_CASE("DDP: gradients accumulated under no_sync give the same result") {
  const Tensor alone = trained_alone(2);
  for (const std::int64_t pieces_count : {2, 4}) {
    const std::vector<Tensor> ranks = trained_together(2, pieces_count);
    CHECK(torch::equal(ranks[0], ranks[1]));
    CHECK((ranks[0] - alone).abs().max().item<double>() < 1e-6);
  }
}

TEST_CASE("DDP: no_sync keeps gradients local, and only while it lives") {
  std::vector<Tensor> gradients(2);
  std::vector<Tensor> later(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(context.rank);
    nn::Linear net(nn::LinearOptions(1, 1).bias(false));
    DistributedDataParallel<nn::Linear> parallel(net, group);
    const Tensor input = torch::full({1, 1}, static_cast<float>(context.rank + 1));
    {
      const auto local = parallel.no_sync();
      parallel(input).sum().backward();
    }
    gradients[rank] = net->weight.grad().clone();
    parallel.zero_grad();
    parallel(input).sum().backward();
    later[rank] = net->weight.grad().clone();
  });
  CHECK(gradients[0].item<float>() == 1);
  CHECK(gradients[1].item<float>() == 2);
  CHECK(later[0].item<float>() == 1.5);
  CHECK(later[1].item<float>() == 1.5);
}

TEST_CASE("DDP: buffers follow rank 0 at the wrap and before each forward pass") {
  std::vector<Tensor> seen(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    nn::BatchNorm1d net(4);
    net->running_mean.fill_(static_cast<float>(context.rank));
    DistributedDataParallel<nn::BatchNorm1d> parallel(net, group);
    for (int step = 0; step < 3; ++step) {
      const float offset = static_cast<float>(100 * context.rank);
      parallel(torch::arange(32, torch::kFloat).reshape({8, 4}) + offset).sum().backward();
    }
    // The statistics of the last batch are each rank's own; a forward pass makes them rank 0's.
    net->eval();
    parallel(torch::zeros({1, 4})).sum().backward();
    seen[static_cast<std::size_t>(context.rank)] = flat(*net);
  });
  CHECK(torch::equal(seen[0], seen[1]));
  CHECK(seen[0].max().item<float>() < 100);
}

TEST_CASE("process group: sums, barriers and decisions reach every rank") {
  std::vector<double> sums(3);
  test::run_ranks(3, [&](const Context& context, const ProcessGroup& group) {
    Tensor value = torch::full({2}, context.rank + 1.0);
    group.all_reduce_sum(value);
    group.barrier();
    sums[static_cast<std::size_t>(context.rank)] = value.sum().item<double>();
    if (group.from_rank_0("a", context.rank == 0 ? "yes" : "no") != "yes") throw Error("no");
    if (!group.from_rank_0("b", "").empty()) throw Error("not empty");
  });
  CHECK(sums == std::vector<double>{12, 12, 12});
}

}  // namespace
}  // namespace ddprun::worker
