#include "ddprun/distributed_data_parallel.hpp"

#include "ddprun/error.hpp"
#include "ddprun/module_state.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <mutex>
#include <set>
#include <utility>

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
/// `pieces_count` of which only the last is synchronised. Buckets so small that there are several.
std::vector<Tensor> trained_together(int world_size,
                                     std::int64_t pieces_count,
                                     DistributedDataParallelOptions options = {}) {
  options.bucket_bytes = 4096;
  options.first_bucket_bytes = 256;
  std::vector<Tensor> result(static_cast<std::size_t>(world_size));
  test::run_ranks(world_size, [&](const Context& context, const ProcessGroup& group) {
    const int rank = context.rank;
    nn::Sequential net = make_net(7 + static_cast<std::uint64_t>(rank));
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    DistributedDataParallel<nn::Sequential> parallel(net, group, options);
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

TEST_CASE("DDP: a static graph gives the same result, with gradients accumulated, too") {
  for (const std::int64_t pieces_count : {1, 4}) {
    const auto ranks = trained_together(2, pieces_count, {.static_graph = true});
    CHECK(torch::equal(ranks[0], ranks[1]));
    CHECK(torch::equal(ranks[0], trained_together(2, pieces_count)[0]));
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
    (void)parallel(input);  // an evaluation
    {
      const auto local = parallel.no_sync();
      if (context.rank == 0)
        net->forward(input).sum().backward();
      else
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

struct TwoLayers : nn::Module {
  TwoLayers() {
    first = register_module("first", nn::Linear(3, 3));
    second = register_module("second", nn::Linear(3, 1));
  }
  /// The second layer only if `through`.
  Tensor forward(const Tensor& input, bool through = true) {
    return through ? second->forward(first->forward(input)) : first->forward(input);
  }

  nn::Linear first{nullptr};
  nn::Linear second{nullptr};
};

/// What two ranks say to such steps with one model, which must be the same; empty: all went well.
template <typename Steps>
std::string answer_to(const Steps& steps, const DistributedDataParallelOptions& options = {}) {
  std::vector<std::string> answers(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    DistributedDataParallel<std::shared_ptr<TwoLayers>> parallel(
        std::make_shared<TwoLayers>(), group, options);
    const Tensor input = torch::full({2, 3}, static_cast<float>(context.rank + 1));
    try {
      steps(parallel, input);
    } catch (const Error& error) {
      answers[static_cast<std::size_t>(context.rank)] = error.what();
    }
  });
  CHECK(answers[0] == answers[1]);
  return answers[0];
}

TEST_CASE("DDP: a step after which the ranks would drift apart is refused on each of them") {
  const std::string alone = "would stay on this rank alone: before each backward pass";
  CHECK(test::contains(answer_to([](auto& parallel, const Tensor& input) {
                         parallel(input, false).sum().backward();
                       }),
                       "gave no gradient to second.weight, second.bias: the ranks would drift"));
  CHECK(test::contains(answer_to([](auto& parallel, const Tensor& input) {
                         const Tensor first = parallel(input).sum();
                         const Tensor second = parallel(input * 2).sum();
                         first.backward();
                         second.backward();
                       }),
                       alone));
  CHECK(test::contains(answer_to([](auto& parallel, const Tensor& input) {
                         const Tensor loss = parallel(input).square().sum();
                         loss.backward({}, true);
                         loss.backward();
                       }),
                       alone));
  CHECK(test::contains(answer_to([](auto& parallel, const Tensor& input) {
                         parallel.module()->forward(input).sum().backward();
                       }),
                       alone));
  CHECK(test::contains(answer_to([](auto& parallel, const Tensor& input) {
                         Tensor loss;
                         {
                           const auto local = parallel.no_sync();
                           loss = parallel(input).sum();
                         }
                         loss.backward();
                       }),
                       alone));
}

TEST_CASE("DDP: several forward passes before one backward pass, and no_sync, are no misuse") {
  CHECK(answer_to([](auto& parallel, const Tensor& input) {
          for (int step = 0; step < 2; ++step) {
            (parallel(input).sum() + parallel(input * 2).sum()).backward();
            (void)parallel(input);  // an evaluation
            const Tensor own = parallel.module()->first->weight;
            (void)torch::autograd::grad({parallel.module()->forward(input).sum()}, {own});
            const auto local = parallel.no_sync();
            for (int piece = 0; piece < 2; ++piece) parallel(input).sum().backward();
            parallel.module()->forward(input).sum().backward();
          }
        }) == "");
}

/// Three steps with the first layer frozen, three with none, three with the second one frozen.
template <typename Step>
void train_in_stages(TwoLayers& net, const Step& step) {
  for (const auto& [first, second] : {std::pair(false, true), {true, true}, {true, false}}) {
    for (auto& parameter : net.first->parameters()) parameter.requires_grad_(first);
    for (auto& parameter : net.second->parameters()) parameter.requires_grad_(second);
    for (int i = 0; i < 3; ++i) step();
  }
}

TEST_CASE("DDP: layers that are frozen or thawed after the wrap are trained as by one process") {
  const auto net_of = [] {
    const auto net = std::make_shared<TwoLayers>();
    for (auto& parameter : net->parameters()) torch::nn::init::constant_(parameter, 0.1);
    return net;
  };
  const auto alone = net_of();
  torch::optim::SGD optimizer_alone(alone->parameters(), 0.05);
  train_in_stages(*alone, [&] {
    for (auto& parameter : alone->parameters()) parameter.mutable_grad() = Tensor();
    const Tensor input = torch::tensor({1.0, 2.0}).reshape({2, 1}).expand({2, 3});
    alone->forward(input).square().mean().backward();
    optimizer_alone.step();
  });
  std::vector<Tensor> trained(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    const auto net = net_of();
    DistributedDataParallel<std::shared_ptr<TwoLayers>> parallel(net, group);
    torch::optim::SGD optimizer(net->parameters(), 0.05);
    train_in_stages(*net, [&] {
      parallel.zero_grad();
      parallel(torch::full({1, 3}, context.rank + 1.0)).square().mean().backward();
      optimizer.step();
    });
    trained[static_cast<std::size_t>(context.rank)] = flat(*net);
  });
  CHECK(torch::equal(trained[0], trained[1]));
  CHECK((trained[0] - flat(*alone)).abs().max().item<double>() < 1e-6);
}

TEST_CASE("DDP: a pass through a net that is frozen for it leaves its gradients to be averaged") {
  std::vector<Tensor> gradients(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    nn::Linear judge(nn::LinearOptions(1, 1).bias(false));
    DistributedDataParallel<nn::Linear> parallel(judge, group);
    const Tensor own = torch::full({1, 1}, context.rank + 1.0);
    const Tensor loss = parallel(own).sum();
    judge->weight.requires_grad_(false);
    (void)parallel(torch::ones({1, 1}));
    judge->weight.requires_grad_(true);
    loss.backward();
    gradients[static_cast<std::size_t>(context.rank)] = judge->weight.grad().clone();
  });
  CHECK(gradients[0].item<float>() == 1.5);
  CHECK(gradients[1].item<float>() == 1.5);
}

TEST_CASE("DDP: a parameter unused on one rank alone ends both of them, and that one says why") {
  std::vector<std::string> answers(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    const bool is_complete = context.rank == 0;
    answers[static_cast<std::size_t>(context.rank)] = test::error_of([&] {
      // Its end closes the connections, as the process's would.
      const ProcessGroup own = group;
      DistributedDataParallel<std::shared_ptr<TwoLayers>> parallel(std::make_shared<TwoLayers>(),
                                                                   own);
      parallel(torch::ones({2, 3}), is_complete).sum().backward();
    });
  });
  CHECK(test::contains(answers[1], "gave no gradient to second.weight, second.bias"));
  CHECK(answers[0] != "");
}

/// Takes the path of its rank, and never the last layer.
struct ForkImpl : nn::Module {
  nn::Linear stem = register_module("stem", nn::Linear(4, 4));
  nn::ModuleList paths =
      register_module("paths", nn::ModuleList(nn::Linear(4, 1), nn::Linear(4, 1)));
  nn::Linear unused = register_module("unused", nn::Linear(4, 1));

  std::pair<Tensor, std::vector<Tensor>> forward(const Tensor& input, int rank) {
    const Tensor middle = stem(input);
    return {middle, {paths->ptr<nn::LinearImpl>(static_cast<std::size_t>(rank))->forward(middle)}};
  }
};
TORCH_MODULE(Fork);

TEST_CASE("DDP: where unused parameters are found, who leaves one out counts as zeros") {
  for (const DistributedDataParallelOptions& options :
       {DistributedDataParallelOptions{.find_unused_parameters = true}, {.static_graph = true}}) {
    std::vector<Tensor> results(2);
    std::mutex mutex;
    int expected_count = 0;
    test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
      Fork net;
      for (auto& parameter : net->parameters()) {
        const torch::NoGradGuard no_grad;
        parameter.copy_(torch::linspace(-0.5, 0.5, parameter.numel()).view_as(parameter));
      }
      torch::optim::SGD optimizer(net->parameters(), 0.1);
      DistributedDataParallel<Fork> parallel(net, group, options);
      for (int step = 0; step < 3; ++step) {
        parallel.zero_grad();
        const Tensor input = torch::full({1, 4}, 1.0 + step + context.rank);
        const Tensor middle = net->stem(input).detach();
        parallel(input, context.rank).second.at(0).sum().backward();
        const auto own = net->paths->ptr<nn::LinearImpl>(static_cast<std::size_t>(context.rank));
        const std::lock_guard lock(mutex);
        expected_count += torch::allclose(own->weight.grad(), middle / 2) ? 1 : 0;
        expected_count += net->unused->weight.grad().defined() ? 0 : 1;
        optimizer.step();
      }
      results[static_cast<std::size_t>(context.rank)] = flat(*net);
    });
    CHECK(expected_count == 12);
    CHECK(torch::equal(results[0], results[1]));
  }
}

TEST_CASE("DDP: a static graph that changes throws where it does") {
  const auto steps = [](bool first, bool second) {
    return [=](auto& parallel, const Tensor& input) {
      (void)parallel(input, second);  // an evaluation
      parallel(input, first).sum().backward();
      parallel.zero_grad();
      parallel(input, second).sum().backward();
    };
  };
  const DistributedDataParallelOptions options{.static_graph = true};
  CHECK(test::contains(answer_to(steps(false, true), options),
                       "a gradient of second.bias, which had none in the first backward pass"));
  CHECK(test::contains(answer_to(steps(true, false), options),
                       "gave no gradient to second.weight, second.bias, as the first one did: "));
  CHECK(answer_to(steps(false, false), options) == "");
}

TEST_CASE("DDP: compressed gradients are the average of what each rank has rounded") {
  std::vector<Tensor> own(2);
  std::vector<Tensor> averages(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(context.rank);
    nn::Sequential net = make_net(7);
    const Tensor input = joint_batch(0, 2).narrow(0, context.rank * batch_size, batch_size);
    own[rank] = torch::autograd::grad({loss_of(net->forward(input), input)}, net->parameters())[0];
    DistributedDataParallel<nn::Sequential> parallel(
        net, group, {.bucket_bytes = 4096, .compression = torch::kHalf});
    for (int step = 0; step < 2; ++step) {  // the buckets of the second are others
      parallel.zero_grad();
      loss_of(parallel(input), input).backward();
    }
    averages[rank] = net->parameters()[0].grad().clone();
  });
  const auto rounded = [&](std::size_t rank) { return own[rank].to(torch::kHalf).div(2); };
  CHECK(torch::equal(averages[0], (rounded(0) + rounded(1)).to(torch::kFloat)));
  CHECK(torch::equal(averages[0], averages[1]));
}

TEST_CASE("DDP: gradients are compressed to types for it alone") {
  test::run_ranks(2, [&](const Context&, const ProcessGroup& group) {
    nn::Sequential net = make_net(7);
    const auto wrap = [&] {
      DistributedDataParallel<nn::Sequential>(net, group, {.compression = torch::kDouble});
    };
    if (!test::contains(test::error_of(wrap),
                        "gradients cannot be compressed to Double; use kHalf")) {
      throw Error("no error, or another one");
    }
  });
}

TEST_CASE("DDP: an optimizer that steps on one rank alone is noticed, and who may differ is not") {
  const auto answer_with = [](const std::set<std::string>& ignored) {
    std::vector<std::string> answers(2);
    test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
      answers[static_cast<std::size_t>(context.rank)] = test::error_of([&] {
        const auto net = std::make_shared<TwoLayers>();
        DistributedDataParallel<std::shared_ptr<TwoLayers>> parallel(
            net, group, {.verify_every = 5, .verify_ignored = ignored});
        torch::optim::SGD optimizer(net->second->parameters(), 0.05);
        for (int step = 0; step < 12; ++step) {
          parallel.zero_grad();
          parallel(torch::ones({2, 3})).square().sum().backward();
          if (context.rank == 1) optimizer.step();
        }
      });
    });
    CHECK(answers[0] == answers[1]);
    return answers[0];
  };
  CHECK(test::contains(answer_with({}), "parameter second.weight differs between ranks by "));
  CHECK(test::contains(answer_with({"second.weight"}), "parameter second.bias differs"));
  CHECK(answer_with({"second.weight", "second.bias"}) == "");
  CHECK(test::contains(answer_with({"third"}), "verify_ignored has third, but no parameter has"));
}

TEST_CASE("DDP: a rank evaluates alone, with the buffers that all were given") {
  std::vector<Tensor> evaluated(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    nn::BatchNorm1d net(4);
    DistributedDataParallel<nn::BatchNorm1d> parallel(net, group);
    parallel(torch::randn({8, 4}) + 100 * context.rank).sum().backward();
    parallel.broadcast_buffers();
    net->eval();
    const torch::NoGradGuard no_grad;
    for (int i = 0; i <= 2 * context.rank; ++i) {
      evaluated[static_cast<std::size_t>(context.rank)] = parallel(torch::ones({1, 4}));
    }
  });
  CHECK(torch::equal(evaluated[0], evaluated[1]));
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
