#include "ddprun/join.hpp"

#include "ddprun/error.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/sync_batch_norm.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <sstream>

namespace ddprun::worker {
namespace {

namespace nn = torch::nn;
using torch::Tensor;

/// Buckets so small that there are several, and a comparison of parameters in each step.
const DistributedDataParallelOptions uneven_options{
    .bucket_bytes = 64, .first_bucket_bytes = 16, .verify_every = 1};

nn::Sequential make_uneven_net() {
  nn::Sequential net(nn::Linear(4, 3), nn::BatchNorm1d(3), nn::ReLU(), nn::Linear(3, 1));
  const torch::NoGradGuard no_grad;
  for (auto& each : net->parameters()) {
    each.copy_(torch::linspace(-0.5, 0.7, each.numel()).view_as(each));
  }
  return net;
}

Tensor batch_of(int rank, int step) {
  return torch::sin(torch::arange(32, torch::kFloat) + 100 * rank + 10 * step).view({8, 4});
}

torch::optim::SGD optimizer_of(nn::Sequential& net) {
  return torch::optim::SGD(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
}

Tensor all_values(const nn::Module& module) {
  std::vector<Tensor> parts;
  for (const auto& named : state_dict(module)) {
    parts.push_back(named.value().to(torch::kDouble).flatten());
  }
  return torch::cat(parts);
}

std::vector<Tensor> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& each : tensors) copies.push_back(each.clone());
  return copies;
}

/// What a Join has to give: the gradients of those ranks that have a batch, added up by hand.
/// Buffers are those of the last of them.
Tensor averaged_by_hand(const std::vector<int>& batch_counts, const JoinOptions& options) {
  nn::Sequential net = make_uneven_net();
  torch::optim::SGD optimizer = optimizer_of(net);
  std::vector<std::vector<Tensor>> buffers(batch_counts.size(), copies_of(net->buffers()));
  const auto use = [&](const std::vector<Tensor>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) net->buffers()[i].copy_(values[i]);
  };
  const int longest = *std::max_element(batch_counts.begin(), batch_counts.end());
  for (int step = 0; step < longest; ++step) {
    std::vector<std::size_t> having;
    for (std::size_t rank = 0; rank < batch_counts.size(); ++rank) {
      if (batch_counts[rank] > step) having.push_back(rank);
    }
    const auto first = buffers[having.back()];
    const auto divisor = options.divide_by_initial_world_size ? buffers.size() : having.size();
    for (auto& each : net->parameters()) each.mutable_grad() = Tensor();
    for (const std::size_t rank : having) {
      use(first);
      const Tensor batch = batch_of(static_cast<int>(rank), step);
      (net->forward(batch).square().mean() / static_cast<double>(divisor)).backward();
      buffers[rank] = copies_of(net->buffers());
    }
    optimizer.step();
  }
  return all_values(*net);
}

/// The state of each rank after the same steps under a Join.
std::vector<Tensor> trained_unevenly(const std::vector<int>& batch_counts,
                                     const JoinOptions& join_options,
                                     const DistributedDataParallelOptions& options) {
  std::vector<Tensor> states(batch_counts.size());
  test::run_ranks(static_cast<int>(batch_counts.size()),
                  [&](const Context& context, const ProcessGroup& group) {
                    const auto rank = static_cast<std::size_t>(context.rank);
                    nn::Sequential net = make_uneven_net();
                    torch::optim::SGD optimizer = optimizer_of(net);
                    DistributedDataParallel<nn::Sequential> parallel(net, group, options);
                    Join join(parallel, join_options);
                    for (int step = 0; join.next(step < batch_counts[rank]); ++step) {
                      parallel.zero_grad();
                      if (step < batch_counts[rank]) {
                        parallel(batch_of(context.rank, step)).square().mean().backward();
                      } else {
                        join.shadow();
                      }
                      optimizer.step();
                    }
                    states[rank] = all_values(*net);
                  });
  return states;
}

const std::array<JoinOptions, 2> both_divisions{JoinOptions{},
                                                JoinOptions{.divide_by_initial_world_size = false}};

TEST_CASE("join: ranks with different numbers of batches are equal to an average by hand") {
  for (const std::vector<int>& counts :
       {std::vector<int>{3, 5}, {4, 0}, {0, 3}, {1, 4, 2}, {2, 2}}) {
    for (const JoinOptions& options : both_divisions) {
      CAPTURE(counts.size());
      const std::vector<Tensor> states = trained_unevenly(counts, options, uneven_options);
      for (const Tensor& each : states) CHECK(torch::equal(each, states[0]));
      CHECK((states[0] - averaged_by_hand(counts, options)).abs().max().item<double>() < 1e-6);
    }
  }
}

TEST_CASE("join: compressed gradients are divided by those who have a batch, too") {
  DistributedDataParallelOptions options = uneven_options;
  options.compression = torch::kHalf;
  for (const JoinOptions& join_options : both_divisions) {
    const std::vector<Tensor> states = trained_unevenly({1, 3}, join_options, options);
    CHECK(torch::equal(states[0], states[1]));
    const Tensor expected = averaged_by_hand({1, 3}, join_options);
    CHECK((states[0] - expected).abs().max().item<double>() < 1e-3);
  }
}

TEST_CASE("join: what no rank uses keeps its gradient where unused parameters are found") {
  std::vector<std::string> answers(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    nn::ModuleList net(nn::Linear(1, 1), nn::Linear(1, 1));
    const auto used = net->ptr<nn::LinearImpl>(0);
    struct FirstImpl : nn::Module {
      explicit FirstImpl(nn::ModuleList list) : list_(register_module("list", std::move(list))) {}
      Tensor forward(const Tensor& input) { return list_->ptr<nn::LinearImpl>(0)->forward(input); }
      nn::ModuleList list_;
    };
    DistributedDataParallel<std::shared_ptr<FirstImpl>> parallel(
        std::make_shared<FirstImpl>(net), group, {.find_unused_parameters = true});
    Join join(parallel);
    for (int step = 0; join.next(step <= context.rank); ++step) {
      parallel.zero_grad();
      if (step <= context.rank) {
        parallel(torch::full({1, 1}, step + 1.0)).sum().backward();
      } else {
        join.shadow();
      }
      if (!net->ptr<nn::LinearImpl>(1)->weight.grad().defined()) {
        answers[static_cast<std::size_t>(context.rank)] +=
            text(used->weight.grad().item<double>(), ' ');
      }
    }
  });
  CHECK(answers == std::vector<std::string>{"1 1 ", "1 1 "});
}

TEST_CASE("join: Python's DistributedDataParallel.join trains the same weights") {
  const test::TemporaryFolder folder;
  const auto output = test::run_python(folder, R"(
import os, torch, torch.nn as nn, torch.distributed as dist
torch.set_num_threads(1)
rank = 0 if os.fork() else 1
dist.init_process_group('gloo', init_method='file://' + os.getcwd() + '/store', rank=rank,
                        world_size=2)
for division in (True, False):
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 1))
    with torch.no_grad():
        for each in net.parameters():
            each.copy_(torch.linspace(-0.5, 0.7, each.numel()).view_as(each))
    parallel = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    with parallel.join(divide_by_initial_world_size=division):
        for step in range((4, 2)[rank]):
            batch = torch.sin(torch.arange(32.) + 100 * rank + 10 * step).view(8, 4)
            optimizer.zero_grad()
            parallel(batch).square().mean().backward()
            optimizer.step()
    if rank == 0:
        print(*[v for each in (*net.parameters(), *net.buffers()) for v in each.flatten().tolist()])
dist.barrier()
if rank == 0: os.wait()
print(end='', flush=True)
os._exit(0)  # at a usual end Python 3.13 warns of a folder of PyTorch's
)");
  if (!output) return;
  std::istringstream lines(*output);
  for (const JoinOptions& options : both_divisions) {
    const Tensor own = trained_unevenly({4, 2}, options, uneven_options)[0];
    Tensor python = torch::zeros_like(own);
    for (std::int64_t i = 0; i < own.numel(); ++i) {
      double value = 0;
      if (!(lines >> value)) FAIL(*output);
      python[i] = value;
    }
    CHECK((own - python).abs().max().item<double>() < 1e-6);
  }
}

TEST_CASE("join: after its end passes are averaged over all ranks again") {
  std::vector<double> gradients(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    nn::Linear net(nn::LinearOptions(1, 1).bias(false));
    DistributedDataParallel<nn::Linear> parallel(net, group);
    const Tensor input = torch::full({1, 1}, context.rank + 1.0);
    {
      Join join(parallel, {.divide_by_initial_world_size = false});
      for (int step = 0; join.next(step < context.rank); ++step) {
        context.rank == 1 ? parallel(input).sum().backward() : join.shadow();
      }
    }
    parallel.zero_grad();
    parallel(input).sum().backward();
    gradients[static_cast<std::size_t>(context.rank)] = net->weight.grad().item<double>();
  });
  CHECK(gradients == std::vector<double>{1.5, 1.5});
}

/// Its layers are registered in the reverse of their order of use.
struct BackwardNetImpl : nn::Module {
  Tensor forward(const Tensor& input) { return last(middle(first(input))); }
  nn::Linear last = register_module("last", nn::Linear(7, 1));
  nn::Linear middle = register_module("middle", nn::Linear(3, 7));
  nn::Linear first = register_module("first", nn::Linear(1, 3));
};
TORCH_MODULE(BackwardNet);

/// A rank without batches gets its gradients in another order.
TEST_CASE("join: another DistributedDataParallel with the order learnt under a Join is right") {
  std::vector<std::string> orders(2);
  std::vector<Tensor> gradients(2);
  std::vector<Tensor> by_hand(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(context.rank);
    DistributedDataParallelOptions own = uneven_options;
    own.gradient_order = std::make_shared<GradientOrder>();
    BackwardNet net;
    {
      DistributedDataParallel<BackwardNet> first(net, group, own);
      Join join(first);
      for (int step = 0; join.next(context.rank == 0 && step == 0); ++step) {
        context.rank == 0 ? first(torch::ones({1, 1})).sum().backward() : join.shadow();
      }
    }
    std::ostringstream order;
    for (const std::int64_t index : *own.gradient_order) order << index << " ";
    orders[rank] = order.str();
    const auto gradients_of = [&](const auto& backward) {
      net->zero_grad();
      backward();
      std::vector<Tensor> flat;
      for (const Tensor& each : net->parameters()) flat.push_back(each.grad().flatten());
      return torch::cat(flat);
    };
    gradients[rank] = gradients_of([&] {
      DistributedDataParallel<BackwardNet> second(net, group, own);
      second(torch::full({1, 1}, context.rank + 1.0)).sum().backward();
    });
    by_hand[rank] = gradients_of([&] {
      for (const double input : {1.0, 2.0}) {
        (net->forward(torch::full({1, 1}, input)) / 2).sum().backward();
      }
    });
  });
  CHECK(orders[0] != orders[1]);
  for (const std::size_t rank : {0U, 1U}) CHECK(torch::allclose(gradients[rank], by_hand[rank]));
}

/// What each of two ranks says to such steps under a Join.
template <typename Steps>
std::vector<std::string> answers_to_join(const Steps& steps, const JoinOptions& options = {}) {
  std::vector<std::string> answers(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    answers[static_cast<std::size_t>(context.rank)] = test::error_of([&] {
      // Its end closes the connections, as the process's would.
      const ProcessGroup own = group;
      DistributedDataParallel<nn::Linear> parallel(nn::Linear(1, 1), own);
      Join join(parallel, options);
      steps(join, parallel, context.rank);
    });
  });
  return answers;
}

TEST_CASE("join: an early end throws the same on all ranks if that is wanted") {
  const auto answers = answers_to_join(
      [](Join& join, auto& parallel, int rank) {
        for (int step = 0; join.next(step < 2 - rank); ++step) {
          parallel(torch::ones({1, 1})).sum().backward();
        }
      },
      {.throw_on_early_termination = true});
  CHECK(
      test::contains(answers[0], "rank 1 has no batch for step 1 of a Join, and another one has"));
  CHECK(answers[0] == answers[1]);
}

TEST_CASE("join: passes that the other ranks do not make throw where they are made") {
  const auto both_say = [](const auto& steps, const std::string& part) {
    for (const std::string& each : answers_to_join(steps)) CHECK(test::contains(each, part));
  };
  const Tensor input = torch::ones({1, 1});
  both_say([&](Join&, auto& parallel, int) { (void)parallel(input); }, "call next() before");
  both_say(
      [&](Join& join, auto& parallel, int) {
        (void)join.next(true);
        (void)parallel(input);
        (void)parallel(input);
      },
      "call next() before");
  both_say(
      [](Join& join, auto&, int) {
        while (join.next(true)) {
        }
      },
      "next() was called again before this rank took part");
  both_say([](Join&, auto& parallel, int) { (void)parallel.no_sync(); }, "no_sync() while a Join");
  both_say([](Join&, auto& parallel, int) { Join second(parallel); }, "a second Join of one");
}

TEST_CASE("join: a rank that leaves its loop early ends the others, with the cause") {
  const auto answers = answers_to_join([](Join& join, auto& parallel, int rank) {
    for (int step = 0; join.next(true); ++step) {
      parallel(torch::ones({1, 1})).sum().backward();
      if (rank == 1) throw Error("left");
    }
  });
  CHECK(test::contains(answers[0], "could not agree on whether one of them has a batch: "));
}

TEST_CASE("join: a SyncBatchNorm is refused unless no rank goes on alone, a static graph always") {
  test::run_ranks(2, [&](const Context&, const ProcessGroup& group) {
    nn::Sequential net(nn::Linear(1, 2), SyncBatchNorm(2, group));
    DistributedDataParallel<nn::Sequential> parallel(net, group);
    const std::string answer = test::error_of([&] { Join join(parallel); });
    if (!test::contains(answer, "a Join of a model with the SyncBatchNorm 1")) throw Error(answer);
    Join join(parallel, {.throw_on_early_termination = true});
    DistributedDataParallel<nn::Linear> fixed(nn::Linear(1, 1), group, {.static_graph = true});
    const std::string other = test::error_of([&] { Join refused(fixed); });
    if (!test::contains(other, "DistributedDataParallel with static_graph")) throw Error(other);
  });
}

}  // namespace
}  // namespace ddprun::worker
