// A data module of a trainer in this process, and of a job of two nodes with two ranks each.
#include "ddprun/data_module.hpp"

#include "tests/worker/trainer/trainer_support.hpp"
#include "worker/torch_compat.hpp"

#include <doctest/doctest.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ddprun::worker {
namespace {

using test::error_of;
using test::SumModule;
using test::TemporaryFolder;
using DataWords = std::vector<std::string>;

/// Sums, and a list of what was called on which rank.
class SumData {
 public:
  SumData(int rank, DataWords& called, std::mutex& mutex)
      : rank_(rank), called_(called), mutex_(mutex) {}

  void prepare_data() { add("prepare"); }
  void setup(const Session& session) {
    add("setup");
    CHECK(session.context().rank == rank_);
    training_.emplace(test::sums(20));
  }
  [[nodiscard]] const TensorData& training_data() const { return training_.value(); }
  [[nodiscard]] TensorData validation_data() const { return test::sums(7, 2); }

  std::string fails_in;

 private:
  void add(const std::string& what) {
    const std::string line = text(what, " ", rank_);
    const std::lock_guard lock(mutex_);
    called_.push_back(line);
    if (line == fails_in) throw std::runtime_error("no such folder");
  }

  int rank_;
  DataWords& called_;
  std::mutex& mutex_;
  std::optional<TensorData> training_;
};

struct SetUpCalls {
  DataWords called;
  DataWords errors;  // by rank
};

/// Sets data up on two nodes of two ranks, each a thread; `fails_in` is such as "setup 3".
SetUpCalls set_up_two_nodes(const std::string& fails_in) {
  const TemporaryFolder folder;
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.port = 0;
  options.waitWorkers = false;
  compat::avoid_libuv(options);
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  SetUpCalls calls{{}, DataWords(4)};
  std::mutex mutex;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    Context context = test::context_in(folder);
    context.rank = rank;
    context.world_size = 4;
    context.local_rank = rank % 2;
    context.local_world_size = 2;
    context.master_addr = "127.0.0.1";
    context.master_port = store->getPort();
    context.agent_store = true;
    ranks.emplace_back([&, context] {
      Session session({}, context);
      SumData data(context.rank, calls.called, mutex);
      data.fails_in = fails_in;
      calls.errors[static_cast<std::size_t>(context.rank)] =
          error_of([&] { set_up(data, session); });
    });
  }
  for (std::thread& each : ranks) each.join();
  return calls;
}

TEST_CASE("data module: data are prepared once on each node, and then set up on each rank") {
  SetUpCalls calls = set_up_two_nodes("none");
  CHECK(calls.errors == DataWords(4));
  REQUIRE(calls.called.size() == 6);
  std::sort(calls.called.begin(), calls.called.begin() + 2);
  std::sort(calls.called.begin() + 2, calls.called.end());
  CHECK(calls.called ==
        DataWords{"prepare 0", "prepare 2", "setup 0", "setup 1", "setup 2", "setup 3"});
}

TEST_CASE("data module: what fails on one node ends all ranks with its words, before any setup") {
  const SetUpCalls prepared = set_up_two_nodes("prepare 2");
  CHECK(prepared.errors == DataWords(4, "no such folder (on rank 2)"));
  CHECK(prepared.called.size() == 2);
  CHECK(set_up_two_nodes("setup 3").errors == DataWords(4, "no such folder (on rank 3)"));
}

TEST_CASE("data module: a trainer sets it up, trains on one data set and validates on the other") {
  const TemporaryFolder with_module;
  const TemporaryFolder without;
  TrainerOptions options;
  options.session = {.epochs = 2, .batch_size = 8};
  Trainer trainer(options, test::context_in(with_module));
  SumModule module;
  DataWords called;
  std::mutex mutex;
  SumData data(0, called, mutex);
  trainer.fit(module, data);
  CHECK(called == DataWords{"prepare 0", "setup 0"});
  Trainer other_trainer(options, test::context_in(without));
  SumModule other;
  other_trainer.fit(other, test::sums(20), test::sums(7, 2));
  CHECK(torch::equal(torch::nn::utils::parameters_to_vector(module.net->parameters()),
                     torch::nn::utils::parameters_to_vector(other.net->parameters())));
}

}  // namespace
}  // namespace ddprun::worker
