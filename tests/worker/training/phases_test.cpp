// Trainings in phases, each with an optimizer of its own, of one rank in this process.
#include "ddprun/callback.hpp"
#include "ddprun/early_stop.hpp"
#include "ddprun/error.hpp"
#include "ddprun/tensor_data.hpp"
#include "ddprun/trainer.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace ddprun::worker {
namespace {

using test::contains;
using test::context_in;
using test::error_of;
using test::TemporaryFolder;
namespace nn = torch::nn;

/// Ends a phase when so many epochs are done.
class PhaseEnd : public Callback {
 public:
  void begin(Session& session) override { end_at(session, session.position().epoch); }
  void finish_epoch(Session& session, const EpochReport& report) override {
    end_at(session, report.epoch + 1);
  }

  std::int64_t epochs_end = 2;

 private:
  void end_at(Session& session, std::int64_t epochs_done) const {
    if (epochs_done >= epochs_end) session.end_after_step();
  }
};

TrainerOptions three_epochs(std::shared_ptr<Callback> callback) {
  TrainerOptions options;
  options.session = {
      .epochs = 3, .batch_size = 4, .save_every = 1, .schedule = [](double) { return 0.5; }};
  options.session.keep_count = 100;
  options.callbacks = {std::move(callback)};
  return options;
}

template <typename Optimizer>
struct Phase {
  torch::Tensor training_step(auto& parallel, const Batch& batch, Metrics& /*metrics*/) {
    return torch::mse_loss(parallel(batch.inputs), batch.targets);
  }
  nn::Sequential net;
  Optimizer optimizer;
};

/// The head by SGD for two epochs of two steps, then all by RMSprop for a third one.
struct PhasedJob {
  explicit PhasedJob(const TemporaryFolder& folder, std::int64_t epochs_of_head = 2)
      : trainer(three_epochs(end), context_in(folder)) {
    end->epochs_end = epochs_of_head;
    for (auto& parameter : body->parameters()) parameter.set_requires_grad(false);
  }

  void train_head() { trainer.fit(head, data); }
  void fine_tune() {
    for (auto& parameter : body->parameters()) parameter.set_requires_grad(true);
    end->epochs_end = 3;
    trainer.fit(whole, data);
  }
  [[nodiscard]] torch::Tensor parameters() const {
    return nn::utils::parameters_to_vector(net->parameters());
  }

  std::shared_ptr<PhaseEnd> end = std::make_shared<PhaseEnd>();
  Trainer trainer;
  nn::Linear body{3, 8};
  nn::Sequential net{body, nn::Dropout(0.5), nn::Linear(8, 1)};
  Phase<torch::optim::SGD> head{
      net, torch::optim::SGD(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9))};
  Phase<torch::optim::RMSprop> whole{net, torch::optim::RMSprop(net->parameters(), 0.01)};
  torch::Tensor inputs = torch::linspace(-1, 1, 24).reshape({8, 3});
  TensorData data{inputs, inputs.sum(1, true)};
};

TEST_CASE("phases: a new start in each phase goes on to the same end") {
  const TemporaryFolder undisturbed;
  PhasedJob unbroken(undisturbed);
  unbroken.train_head();
  const torch::Tensor after_head = unbroken.parameters();
  CHECK(unbroken.trainer.session().position() == Position{.epoch = 2, .step = 4});
  CHECK(unbroken.trainer.session().learning_rate() == 0.05);
  unbroken.fine_tune();
  CHECK(unbroken.trainer.session().position() == Position{.epoch = 3, .step = 6});
  CHECK(unbroken.trainer.session().learning_rate() == 0.005);  // the schedule is of both
  CHECK_FALSE(torch::equal(unbroken.parameters(), after_head));
  for (const int step : {1, 3, 4, 5, 6}) {  // the second phase begins after 4
    CAPTURE(step);
    const TemporaryFolder folder;
    const std::string snapshot = text("snapshot.pt.0.", step);
    std::filesystem::copy(undisturbed / snapshot, folder / snapshot);
    PhasedJob job(folder);
    job.train_head();
    if (step >= 4) CHECK(job.trainer.session().position().step == step);
    job.fine_tune();
    CHECK(torch::equal(job.parameters(), unbroken.parameters()));
  }
}

TEST_CASE("phases: an early stop of one phase leaves the next one its epochs, restarts included") {
  const TemporaryFolder folder;
  for (int start = 1; start <= 2; ++start) {
    TrainerOptions options;
    options.session = {.epochs = 9, .batch_size = 4};
    options.callbacks = {std::make_shared<EarlyStop>(
        "train/loss", EarlyStopOptions{.patience = 1, .change_min = 1e9})};
    Trainer trainer(options, context_in(folder));
    const nn::Sequential net{nn::Linear(3, 1)};
    Phase<torch::optim::SGD> head{net, torch::optim::SGD(net->parameters(), 0.1)};
    Phase<torch::optim::RMSprop> whole{net, torch::optim::RMSprop(net->parameters(), 0.01)};
    const torch::Tensor inputs = torch::linspace(-1, 1, 24).reshape({8, 3});
    const TensorData data{inputs, inputs.sum(1, true)};
    trainer.fit(head, data);
    CHECK(trainer.session().position().epoch == (start == 1 ? 2 : 4));
    trainer.fit(whole, data);
    CHECK(trainer.session().position().epoch == 4);
  }
}

TEST_CASE("phases: no step of an earlier phase is made over a snapshot of a later one") {
  const TemporaryFolder folder;
  {
    PhasedJob job(folder);
    job.train_head();
    job.fine_tune();
  }
  std::filesystem::remove(folder / "snapshot.pt.0.6");
  PhasedJob job(folder, 4);  // whose first phase is longer now
  const std::string error = error_of([&] { job.train_head(); });
  CHECK(contains(error, "the snapshot is one of optimizer 2 of this training, and step 5 is made"));
  CHECK(contains(error, "by optimizer 1; call change_optimizer() first"));
  CHECK(folder.names().back() == "snapshot.pt.0.5");
}

TEST_CASE("phases: steps that the program makes itself do not replace a later phase's snapshot") {
  const TemporaryFolder folder;
  const auto train = [&](std::int64_t epochs, int phases) {
    Session session({.epochs = epochs, .batch_size = 1}, context_in(folder));
    nn::Linear net(1, 1);
    torch::optim::SGD head(net->parameters(), 0.1);
    torch::optim::LBFGS whole(net->parameters(), 0.1);
    auto parallel = session.prepare(net, head);
    if (phases == 2) session.change_optimizer(whole);
    for ([[maybe_unused]] const Step& step : session.steps(1)) {
      whole.step([&] {
        whole.zero_grad();
        const torch::Tensor loss = parallel(torch::ones({1, 1})).sum();
        session.backward(loss);
        return loss;
      });
    }
  };
  train(1, 2);
  CHECK(contains(error_of([&] { train(2, 1); }),
                 "the snapshot is one of optimizer 2 of this training, and step 1 is made by "
                 "optimizer 1; call change_optimizer() first"));
  CHECK(folder.names() == std::vector<std::string>{"snapshot.pt", "snapshot.pt.0.1"});
  train(2, 2);
  CHECK(folder.names().back() == "snapshot.pt.1.2");
}

TEST_CASE("phases: an optimizer is changed after prepare()") {
  const TemporaryFolder folder;
  Session session({}, context_in(folder));
  nn::Linear net(1, 1);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  CHECK(contains(error_of([&] { session.change_optimizer(optimizer); }),
                 "change_optimizer() of a session was called before prepare()"));
}

}  // namespace
}  // namespace ddprun::worker
