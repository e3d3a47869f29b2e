// Sessions of two ranks, each in a thread of this process.
#include "ddprun/error.hpp"
#include "ddprun/session.hpp"
#include "tests/worker/support.hpp"
#include "worker/torch_compat.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <mutex>
#include <thread>

namespace ddprun::worker {
namespace {

using test::contains;
using test::context_in;
using test::error_of;
using test::TemporaryFolder;
using torch::Tensor;
namespace nn = torch::nn;

/// A session of one rank makes a step with this network, and saves it.
nn::Sequential save_by_one(const TemporaryFolder& folder) {
  Session session({}, context_in(folder));
  nn::Sequential net{nn::Linear(1, 8), nn::Dropout(0.5), nn::Tanh(), nn::Linear(8, 1)};
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  auto parallel = session.prepare(net, optimizer);
  for ([[maybe_unused]] const Step& step : session.steps(1)) {
    session.backward(parallel(torch::ones({1, 1})).sum());
    session.step();
  }
  return net;
}

/// Two sessions, each in a thread, that meet in a store of their own.
void run_two_sessions(const TemporaryFolder& folder,
                      const std::function<void(Session& session)>& body) {
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.port = 0;
  options.waitWorkers = false;
  compat::avoid_libuv(options);
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    Context context = context_in(folder);
    context.rank = context.local_rank = rank;
    context.world_size = context.local_world_size = 2;
    context.master_addr = "127.0.0.1";
    context.master_port = store->getPort();
    context.agent_store = true;
    ranks.emplace_back([context, &body] {
      Session session({}, context);
      body(session);
    });
  }
  for (std::thread& each : ranks) each.join();
}

TEST_CASE("session: ranks evaluate with the statistics of rank 0, unless each keeps its own") {
  for (const bool shares : {true, false}) {
    CAPTURE(shares);
    std::mutex mutex;
    std::vector<Tensor> outputs;
    const TemporaryFolder folder;
    run_two_sessions(folder, [&](Session& session) {
      nn::BatchNorm1d norm(2);
      torch::optim::SGD optimizer(norm->parameters(), 0.1);
      auto parallel = session.prepare(norm, optimizer, {.broadcast_buffers = shares});
      norm->forward(torch::full({4, 2}, 3.0 * session.context().rank) +
                    torch::arange(4).view({4, 1}));
      const auto batches = session.evaluation(2, 1);
      const std::lock_guard lock(mutex);
      outputs.push_back(norm->forward(torch::ones({1, 2})));
    });
    CHECK(torch::equal(outputs.at(0), outputs.at(1)) == shares);
  }
}

/// What each of two sessions throws.
std::vector<std::string> errors_of_two(const std::function<void(Session& session)>& body) {
  const TemporaryFolder folder;
  std::vector<std::string> errors(2);
  run_two_sessions(folder, [&](Session& session) {
    errors[static_cast<std::size_t>(session.context().rank)] = error_of([&] { body(session); });
  });
  return errors;
}

TEST_CASE("session: ranks with other numbers of samples have one error") {
  const auto use = [](Session& session, const auto& call) {
    nn::Linear net(1, 1);
    torch::optim::SGD optimizer(net->parameters(), 0.5);
    const auto parallel = session.prepare(net, optimizer);
    call(10 + session.context().rank);
  };
  const std::vector<std::string> expected(
      2, "rank 1 has data of 11 samples and rank 0 of 10; give all ranks the same data");
  CHECK(errors_of_two([&](Session& session) {
          use(session, [&](auto count) { static_cast<void>(session.steps(count)); });
        }) == expected);
  CHECK(errors_of_two([&](Session& session) {
          use(session, [&](auto count) { static_cast<void>(session.evaluation(count, 5)); });
        }) == expected);
}

TEST_CASE("session: all ranks resume with the model and the optimizer's state of rank 0's file") {
  const TemporaryFolder folder;
  Tensor weight;
  {
    const nn::Sequential net = save_by_one(folder);
    weight = net->parameters()[0].detach().clone();
  }
  std::mutex mutex;
  std::vector<bool> are_equal;
  run_two_sessions(folder, [&](Session& session) {
    nn::Sequential net{nn::Linear(1, 8), nn::Dropout(0.5), nn::Tanh(), nn::Linear(8, 1)};
    torch::optim::Adam optimizer(net->parameters(), 0.5);
    auto parallel = session.prepare(net, optimizer);
    const std::lock_guard lock(mutex);
    are_equal.push_back(torch::equal(net->parameters()[0], weight) &&
                        session.learning_rate() == 0.01 && optimizer.state().size() == 4);
  });
  CHECK(are_equal == std::vector<bool>{true, true});
}

TEST_CASE("session: ranks with another model or optimizer than the snapshot's have one error") {
  const TemporaryFolder folder;
  save_by_one(folder);
  const auto errors_of = [&](std::int64_t width, const auto& make_optimizer) {
    std::mutex mutex;
    std::vector<std::string> errors;
    run_two_sessions(folder, [&](Session& session) {
      nn::Sequential net{nn::Linear(1, width), nn::Dropout(0.5), nn::Tanh(), nn::Linear(width, 1)};
      auto optimizer = make_optimizer(net->parameters());
      const std::string error =
          error_of([&] { static_cast<void>(session.prepare(net, optimizer)); });
      const std::lock_guard lock(mutex);
      errors.push_back(error);
    });
    REQUIRE(errors.size() == 2);
    CHECK(errors[0] == errors[1]);
    return errors[0];
  };
  const auto adam = [](auto parameters) { return torch::optim::Adam(parameters, 0.1); };
  const auto sgd = [](auto parameters) { return torch::optim::SGD(parameters, 0.1); };
  CHECK(contains(errors_of(9, adam), "(0.weight is [8, 1], the model's [9, 1], "));
  CHECK(contains(errors_of(8, sgd), "the optimizer state does not fit this optimizer"));
}

}  // namespace
}  // namespace ddprun::worker
