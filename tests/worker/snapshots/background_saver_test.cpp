#include "worker/snapshots/background_saver.hpp"

#include "ddprun/context.hpp"
#include "ddprun/error.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/pt_file.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::TemporaryFolder;
namespace nn = torch::nn;

constexpr std::int64_t saved_step = 7;

Context context_at(const std::filesystem::path& snapshot) {
  Context context;
  context.snapshot = snapshot;
  return context;
}

/// A network of one large layer after its first step, and who saves it.
struct SavedNet {
  explicit SavedNet(const std::filesystem::path& path, std::vector<std::string>* told = nullptr)
      : group(ProcessGroup::connect(context_at(path))),
        store(context_at(path),
              group,
              {.warn = [to = told != nullptr ? told : &warnings](const std::string& line) {
                to->push_back(line);
              }}) {
    net->forward(torch::ones({1, 1000})).sum().backward();
    optimizer.step();
  }

  void begin() {
    Snapshot snapshot;
    snapshot.position.step = saved_step;
    snapshot.model_state.insert("buffer", torch::ones({2}));
    BackgroundSaver::Shared shared;
    for (const auto& named : net->named_parameters()) {
      shared.parameters.insert(named.key(), named.value().detach());
    }
    shared.optimizer_state = optimizer_state(optimizer);
    saver.begin(std::move(snapshot), std::move(shared));
  }

  ProcessGroup group;
  std::vector<std::string> warnings;
  nn::Linear net{1000, 1000};
  torch::optim::Adam optimizer{net->parameters(), 0.1};
  SnapshotStore store;
  BackgroundSaver saver{store};
};

TEST_CASE("background saver: a snapshot holds what was there when it began") {
  const TemporaryFolder folder;
  SavedNet saved(folder / "snapshot.pt");
  const torch::Tensor weight = saved.net->weight.detach().clone();
  saved.begin();
  saved.saver.wait_for_copy();
  saved.optimizer.step();
  REQUIRE_FALSE(torch::equal(saved.net->weight, weight));
  CHECK(saved.saver.wait() == Position{.step = saved_step});
  CHECK(saved.saver.wait() == std::nullopt);
  CHECK(saved.saver.poll() == std::nullopt);

  const Snapshot read = from_value(read_pt_file(folder / "snapshot.pt"));
  CHECK(read.position.step == saved_step);
  CHECK(torch::equal(read.model_state["weight"], weight));
  CHECK(torch::equal(read.model_state["buffer"], torch::ones({2})));
  nn::Linear other(1000, 1000);
  torch::optim::Adam loaded(other->parameters());
  load_optimizer_state(loaded, read.optimizer_state);
  CHECK(saved.warnings.empty());
}

TEST_CASE("background saver: what changed while it was copied is not saved, and is told") {
  constexpr int tries_max = 20;
  const TemporaryFolder folder;
  SavedNet saved(folder / "snapshot.pt");
  std::vector<torch::Tensor> large(50);
  for (torch::Tensor& tensor : large) tensor = torch::zeros({1 << 20});
  for (int tries = 0; !saved.saver.has_torn(); ++tries) {  // the copy may be quicker
    REQUIRE(tries < tries_max);
    saved.saver.wait();
    BackgroundSaver::Shared shared;
    for (std::size_t i = 0; i < large.size(); ++i) {
      shared.parameters.insert(std::to_string(i), large[i]);
    }
    Snapshot rest;
    saved.saver.begin(std::move(rest), std::move(shared));
    large.back().add_(1);
    saved.saver.wait_for_copy();
  }
  CHECK(saved.saver.wait() == std::nullopt);
  REQUIRE(saved.warnings.size() == 1);
  CHECK(contains(saved.warnings[0], "parameters changed while it copied them"));
}

TEST_CASE("background saver: a copy that fails ends the wait for it, and wait() says why") {
  const TemporaryFolder folder;
  SavedNet saved(folder / "snapshot.pt");
  BackgroundSaver::Shared shared;
  shared.parameters.insert("none", torch::empty({2}, torch::kMeta));  // it has no data to copy
  Snapshot rest;
  saved.saver.begin(std::move(rest), std::move(shared));
  saved.saver.wait_for_copy();
  CHECK_THROWS(saved.saver.wait());
  saved.begin();
  CHECK(saved.saver.wait() == Position{.step = saved_step});
}

TEST_CASE("background saver: an error of a save comes from wait(), and the next save is made") {
  const TemporaryFolder folder;
  SavedNet saved(folder / "snapshot.pt");
  torch::NoGradGuard no_grad;
  saved.net->bias.fill_(std::numeric_limits<float>::quiet_NaN());
  saved.begin();
  CHECK(contains(error_of([&] { saved.saver.wait(); }), "bias holds a NaN at step 7"));
  saved.net->bias.fill_(0);
  saved.begin();
  CHECK(saved.saver.wait() == Position{.step = saved_step});
}

TEST_CASE("background saver: its end waits for the save under way, whose error becomes a warning") {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  {
    SavedNet saved(folder / "snapshot.pt", &warnings);
    torch::NoGradGuard no_grad;
    saved.net->bias.fill_(std::numeric_limits<float>::quiet_NaN());
    saved.begin();
  }
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "cannot save the snapshot of step 7: bias holds a NaN"));
}

}  // namespace
}  // namespace ddprun::worker
