// Trainers of one rank, in this process; examples/images_test.cpp has one of several.
#include "ddprun/trainer.hpp"

#include "ddprun/callbacks.hpp"
#include "ddprun/early_stop.hpp"
#include "ddprun/error.hpp"
#include "tests/worker/trainer/trainer_support.hpp"
#include "tests/worker/training/launcher_kit.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::Launcher;
using test::SumModule;
using test::sums;
using test::TemporaryFolder;

const TensorData training_sums = sums(20);
const TensorData other_sums = sums(7, 2);

/// What a training calls, in its order.
class Recorder : public Callback {
 public:
  void begin(Session& session) override { add("begin at ", session.position().step); }
  void finish_step(Session& session, const Step& step, const torch::Tensor& loss) override {
    add("step ", step.position.step, loss.requires_grad() ? " with a graph" : "");
    static_cast<void>(session);
  }
  void finish_epoch(Session& /*session*/, const EpochReport& report) override {
    add("epoch ", report.epoch, " after ", report.steps);
    for (const auto& [name, value] : report.metrics) lines.back() += " " + name;
    reports.push_back(report);
  }

  std::vector<std::string> lines;
  std::vector<EpochReport> reports;

 private:
  template <typename... Parts>
  void add(const Parts&... parts) {
    lines.push_back(text(parts...));
  }
};

TrainerOptions two_epochs() {
  TrainerOptions options;
  options.session = {.epochs = 2, .batch_size = 8, .save_every = 1, .keep_count = 100};
  return options;
}

torch::Tensor parameters_of(const SumModule& module) {
  return torch::nn::utils::parameters_to_vector(module.net->parameters());
}

TEST_CASE("trainer: the parameters are those of a loop by hand, with clipping as well") {
  for (const double norm_max : {0.0, 0.1}) {
    CAPTURE(norm_max);
    const TemporaryFolder folder;
    const TemporaryFolder by_hand;
    TrainerOptions options = two_epochs();
    options.gradient_norm_max = norm_max;
    Trainer trainer(options, test::context_in(folder));
    SumModule module;
    trainer.fit(module, training_sums, other_sums);

    Session session(options.session, test::context_in(by_hand));
    SumModule other;
    auto parallel = session.prepare(other.net, other.optimizer);
    for (const Step& step : session.steps(training_sums.size())) {
      const Batch batch = training_sums.batch(step.samples);
      session.backward(torch::mse_loss(parallel(batch.inputs), batch.targets));
      if (norm_max > 0) session.clip_gradients(norm_max);
      session.step();
    }
    CHECK(torch::equal(parameters_of(module), parameters_of(other)));
    CHECK(session.position() == trainer.session().position());
  }
}

TEST_CASE("trainer: a new start goes on from each snapshot to the same end") {
  const TemporaryFolder undisturbed;
  Trainer whole(two_epochs(), test::context_in(undisturbed));
  SumModule module;
  whole.fit(module, training_sums, other_sums);
  for (const char* step : {"1", "3", "4", "6"}) {
    CAPTURE(step);
    const TemporaryFolder folder;
    std::filesystem::copy(undisturbed / (std::string("snapshot.pt.0.") + step),
                          folder / (std::string("snapshot.pt.0.") + step));
    Trainer trainer(two_epochs(), test::context_in(folder));
    SumModule again;
    trainer.fit(again, training_sums, other_sums);
    CHECK(torch::equal(parameters_of(again), parameters_of(module)));
  }
}

TEST_CASE("trainer: callbacks hear of each step, and of each epoch with its metrics") {
  const TemporaryFolder folder;
  TrainerOptions options = two_epochs();
  options.session.epochs = 3;
  options.session.batch_size = 10;
  options.validate_every = 2;
  const auto recorder = std::make_shared<Recorder>();
  options.callbacks = {recorder};
  Trainer trainer(options, test::context_in(folder));
  SumModule module;
  trainer.fit(module, training_sums, other_sums);
  CHECK(recorder->lines ==
        std::vector<std::string>{"begin at 0",
                                 "step 0",
                                 "step 1",
                                 "epoch 0 after 2 train/loss train/twice",
                                 "step 2",
                                 "step 3",
                                 "epoch 1 after 4 train/loss train/twice validation/error",
                                 "step 4",
                                 "step 5",
                                 "epoch 2 after 6 train/loss train/twice validation/error"});
  auto metrics = recorder->reports.back().metrics;
  CHECK(metrics["train/twice"] == doctest::Approx(2 * metrics["train/loss"]));
  module.net->eval();
  const Batch others = other_sums.batch(torch::arange(other_sums.size()));
  const auto errors = (module.net->forward(others.inputs) - others.targets).abs().mean();
  CHECK(metrics["validation/error"] == doctest::Approx(errors.item<double>()));
}

TEST_CASE("trainer: ddprun is told of the newest loss, and of the epoch's other metrics") {
  const Launcher launcher;
  const auto recorder = std::make_shared<Recorder>();
  {
    const TemporaryFolder folder;
    TrainerOptions options = two_epochs();
    options.callbacks = {recorder};
    Trainer trainer(options, test::context_in(folder));
    SumModule module;
    trainer.fit(module, training_sums, other_sums);
  }
  const std::string told = launcher.told();
  CHECK(contains(told, "metric loss "));
  CHECK(contains(told, "metric train/twice "));
  CHECK_FALSE(contains(told, "metric train/loss "));  // the newest one is enough
  const std::string name = "metric validation/error ";
  const std::size_t at = told.rfind(name);
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(told.substr(at + name.size())) ==
        recorder->reports.back().metrics["validation/error"]);
}

TEST_CASE("trainer: it ends after steps_max steps, restarts included, and after time_max") {
  const TemporaryFolder folder;
  TrainerOptions options = two_epochs();
  options.session.steps_max = 4;
  for (const std::int64_t steps : {4, 0}) {  // of this start
    const auto recorder = std::make_shared<Recorder>();
    options.callbacks = {recorder};
    Trainer trainer(options, test::context_in(folder));
    SumModule module;
    trainer.fit(module, training_sums, other_sums);
    // The limit is in the second epoch, which has no validation.
    CHECK(std::ssize(recorder->lines) == 1 + steps + (steps > 0 ? 1 : 0));
    CHECK(trainer.session().position().step == 4);
  }
  CHECK(std::filesystem::exists(folder / "snapshot.pt.0.4"));

  const TemporaryFolder other;
  options.session.steps_max = 0;
  options.time_max = std::chrono::nanoseconds(1);
  options.callbacks.clear();
  Trainer trainer(options, test::context_in(other));
  SumModule module;
  trainer.fit(module, training_sums);
  CHECK(trainer.session().position().step == 1);
}

TEST_CASE("trainer: validates and predicts each sample once, before a training as after it") {
  const TemporaryFolder folder;
  TrainerOptions options = two_epochs();
  options.validation_batch_size = 3;
  Trainer trainer(options, test::context_in(folder));
  SumModule module;
  const auto expect_right = [&] {
    const auto predictions = trainer.predict(module, other_sums);
    CHECK(torch::equal(predictions.samples, torch::arange(7)));
    const Batch others = other_sums.batch(predictions.samples);
    const double error = (predictions.outputs - others.targets).abs().mean().item<double>();
    CHECK(trainer.validate(module, other_sums)["error"] == doctest::Approx(error));
    CHECK(module.net->is_training());
  };
  expect_right();
  trainer.fit(module, training_sums);
  expect_right();
}

/// It tells the loss, which the trainer does.
struct Teller : SumModule {
  torch::Tensor training_step(auto& parallel, const Batch& batch, Metrics& metrics) {
    metrics.add("loss", torch::tensor(1.0));
    return SumModule::training_step(parallel, batch, metrics);
  }
};

TEST_CASE("trainer: what would be told or kept under one name twice is refused") {
  const TemporaryFolder folder;
  TrainerOptions options = two_epochs();
  {
    Trainer trainer(options, test::context_in(folder));
    Teller module;
    CHECK(contains(error_of([&] { trainer.fit(module, training_sums); }),
                   "has added to the metric loss, which the trainer does itself"));
  }
  options.callbacks = {std::make_shared<KeepBest>("x"), std::make_shared<KeepBest>("y")};
  CHECK(contains(error_of([&] { const Trainer refused(options, test::context_in(folder)); }),
                 "give it one KeepBest"));
  options.callbacks = {std::make_shared<EarlyStop>("x"), std::make_shared<EarlyStop>("y")};
  CHECK(error_of([&] { const Trainer taken(options, test::context_in(folder)); }).empty());
  options.callbacks.push_back(std::make_shared<EarlyStop>("x", EarlyStopOptions{.patience = 9}));
  CHECK(error_of([&] { const Trainer refused(options, test::context_in(folder)); }) ==
        "a trainer has two early stops for x; give it one");
}

TEST_CASE("trainer: a callback that needs a validation is refused without one") {
  const TemporaryFolder folder;
  TrainerOptions options = two_epochs();
  for (const std::shared_ptr<Callback>& each :
       {std::shared_ptr<Callback>(std::make_shared<KeepBest>("validation/error")),
        std::shared_ptr<Callback>(std::make_shared<EarlyStop>("validation/error"))}) {
    options.callbacks = {each};
    Trainer trainer(options, test::context_in(folder));
    SumModule module;
    const std::string refused = "a callback needs the metric validation/error, but fit() has no ";
    CHECK(contains(error_of([&] { trainer.fit(module, training_sums); }), refused));
    CHECK(error_of([&] { trainer.fit(module, training_sums, training_sums); }).empty());
  }
}

TEST_CASE("trainer: a second network and options out of range are refused") {
  const TemporaryFolder folder;
  Trainer trainer(two_epochs(), test::context_in(folder));
  SumModule first;
  SumModule second;
  trainer.fit(first, training_sums);
  CHECK(contains(error_of([&] { trainer.fit(second, training_sums); }), "a second network"));

  const auto error_with = [&](const std::function<void(TrainerOptions&)>& change) {
    TrainerOptions options = two_epochs();
    change(options);
    return error_of([&] { const Trainer refused(options, test::context_in(folder)); });
  };
  CHECK(error_with([](auto& options) { options.validate_every = 0; }) ==
        "validate_every of a trainer is 0; give at least 1");
  CHECK(error_with([](auto& options) { options.validation_batch_size = -2; }) ==
        "validation_batch_size of a trainer is -2; give at least 0");
  CHECK(error_with([](auto& options) { options.gradient_norm_max = -0.5; }) ==
        "gradient_norm_max of a trainer is -0.5; give at least 0");
  CHECK(error_with([](auto& options) { options.time_max = std::chrono::nanoseconds(-1); }) ==
        "time_max of a trainer is -1; give at least 0");
}

}  // namespace
}  // namespace ddprun::worker
