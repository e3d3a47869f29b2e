// Sessions of one rank, in this process; interrupted_job.cpp is one of several.
#include "ddprun/session.hpp"

#include "ddprun/error.hpp"
#include "ddprun/mean.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/tensor_data.hpp"
#include "tests/worker/support.hpp"
#include "worker/training/failed_step.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace ddprun::worker {
namespace {

using test::contains;
using test::context_in;
using test::error_of;
using test::TemporaryFolder;
using torch::Tensor;
namespace nn = torch::nn;

constexpr std::int64_t data_size = 20;

/// Learns a sum, with what a test adds to each step.
struct SessionJob {
  SessionJob(const TemporaryFolder& folder, const SessionOptions& options)
      : session(options, context_in(folder)) {}

  void train(const std::function<void(const Step&)>& before_step = {}) {
    auto parallel = session.prepare(net, optimizer);
    for (const Step& step : session.steps(data_size)) {
      const Tensor inputs = step.samples.to(torch::kFloat).unsqueeze(1) / data_size;
      session.backward(torch::mse_loss(parallel(inputs), inputs.sin()));
      if (before_step) before_step(step);
      session.step();
    }
  }

  [[nodiscard]] double rate() { return optimizer.param_groups()[0].options().get_lr(); }

  Session session;
  nn::Sequential net{nn::Linear(1, 8), nn::Dropout(0.5), nn::Tanh(), nn::Linear(8, 1)};
  torch::optim::Adam optimizer{net->parameters(), 0.01};
};

TEST_CASE("session: a new start goes on from each snapshot to the same end") {
  const SessionOptions options{.epochs = 3, .batch_size = 8, .save_every = 2, .keep_count = 100};
  const TemporaryFolder undisturbed;
  SessionJob whole(undisturbed, options);
  whole.train();
  CHECK(whole.session.position() == Position{.epoch = 3, .step = 9});
  CHECK(undisturbed.names() == std::vector<std::string>{"snapshot.pt",
                                                        "snapshot.pt.0.2",
                                                        "snapshot.pt.0.3",
                                                        "snapshot.pt.0.4",
                                                        "snapshot.pt.0.6",
                                                        "snapshot.pt.0.8",
                                                        "snapshot.pt.0.9"});
  for (const char* step : {"2", "3", "4", "6", "8"}) {
    CAPTURE(step);
    const TemporaryFolder folder;
    std::filesystem::copy(undisturbed / (std::string("snapshot.pt.0.") + step),
                          folder / (std::string("snapshot.pt.0.") + step));
    SessionJob job(folder, options);
    job.train();
    CHECK(job.session.position() == whole.session.position());
    for (std::size_t i = 0; i < whole.net->parameters().size(); ++i) {
      CHECK(torch::equal(job.net->parameters()[i], whole.net->parameters()[i]));
    }
  }
}

TEST_CASE("session: a step that is left by break is made again") {
  const TemporaryFolder folder;
  SessionJob job(folder, {.batch_size = 8});
  auto parallel = job.session.prepare(job.net, job.optimizer);
  for (const Step& step : job.session.steps(data_size)) {
    if (step.position.step == 1) break;
  }
  CHECK(job.session.position() == Position{.batch = 1, .samples = 8, .step = 1});
  std::vector<std::int64_t> steps;
  for (const Step& step : job.session.steps(data_size)) steps.push_back(step.position.step);
  CHECK(steps == std::vector<std::int64_t>{1, 2});
}

/// Trains a network with a BatchNorm for six steps and saves each.
void save_each_step(const TemporaryFolder& folder, SessionOptions options) {
  options.batch_size = 4;
  options.save_every = 1;
  options.keep_count = 100;
  Session session(options, context_in(folder));
  nn::Sequential net(nn::Linear(1, 500), nn::BatchNorm1d(500), nn::Linear(500, 500));
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  auto parallel = session.prepare(net, optimizer);
  for (const Step& step : session.steps(24)) {
    const Tensor inputs = step.samples.to(torch::kFloat).unsqueeze(1);
    session.backward(parallel(inputs).square().mean());
    session.step();
  }
}

TEST_CASE("session: snapshots written beside the training are those of a training that waits") {
  const TemporaryFolder waiting;
  const TemporaryFolder beside;
  save_each_step(waiting, {.saves_beside = false});
  std::vector<std::int64_t> told;
  save_each_step(beside, {.saved = [&told](const Position& position, const auto&) {
                   told.push_back(position.step);
                 }});
  CHECK(told == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  REQUIRE(waiting.names().size() == 7);
  for (const std::string& name : waiting.names()) {
    CAPTURE(name);
    CHECK(test::read_bytes(beside / name) == test::read_bytes(waiting / name));
  }
}

TEST_CASE("session: a loop that is left by an exception has finished its save") {
  const TemporaryFolder folder;
  Session session({.batch_size = 4, .save_every = 1}, context_in(folder));
  nn::Linear net(1000, 1000);
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  auto parallel = session.prepare(net, optimizer);
  const auto fail_after_a_step = [&] {
    for (const Step& step : session.steps(24)) {
      if (step.position.step == 1) throw Error("no more of this");
      session.backward(parallel(torch::ones({4, 1000})).mean());
      session.step();
    }
  };
  CHECK(error_of(fail_after_a_step) == "no more of this");
  CHECK(folder.names() == std::vector<std::string>{"snapshot.pt", "snapshot.pt.0.1"});
}

/// Sample i is i, plus what it draws.
struct DrawnData {
  [[nodiscard]] static std::int64_t size() { return data_size; }
  [[nodiscard]] static Sample get(std::int64_t index, torch::Generator& draws) {
    return {torch::rand({1}, draws) + index, torch::tensor(index, torch::kLong)};
  }
};

TEST_CASE("session: a loader's batches are those of the steps, and a restart draws the same") {
  const SessionOptions options{.epochs = 2, .batch_size = 6, .save_every = 1, .seed = 3};
  const DrawnData data;
  BatchLoader loader(data, {.threads = 2});
  // The inputs of all steps, of which `count` are made by each start.
  const auto inputs_of_steps = [&](std::int64_t count) {
    const TemporaryFolder folder;
    std::vector<Tensor> inputs;
    for (bool is_over = false; !is_over;) {
      SessionJob job(folder, options);
      auto parallel = job.session.prepare(job.net, job.optimizer);
      std::int64_t steps = 0;
      for (const Step& step : job.session.steps(loader)) {
        CHECK(torch::equal(step.batch.targets, step.samples));
        inputs.push_back(step.batch.inputs);
        job.session.backward(parallel(step.batch.inputs).mean());
        job.session.step();
        if (++steps == count) job.session.end_after_step();
      }
      is_over = job.session.position().epoch == options.epochs;
    }
    return torch::cat(inputs);
  };
  const Tensor expected = inputs_of_steps(100);
  CHECK(expected.numel() == options.epochs * data_size);
  CHECK_FALSE(torch::equal(expected.slice(0, 0, data_size), expected.slice(0, data_size)));
  for (const std::int64_t count : {1, 3}) CHECK(torch::equal(inputs_of_steps(count), expected));
}

TEST_CASE("session: the step that an exception ends is noted, with the shapes of its batch") {
  const TemporaryFolder folder;
  const TensorData data(torch::ones({6, 4}), torch::ones({6}));
  SessionJob job(folder, {.batch_size = 2});
  auto parallel = job.session.prepare(job.net, job.optimizer);
  BatchLoader loader(data);
  const auto use = [&](bool throws) {
    for ([[maybe_unused]] const Step& step : job.session.steps(loader)) {
      if (throws && step.position.step == 1) throw Error("");
    }
  };
  CHECK_THROWS_AS(use(true), Error);
  CHECK(failed_step() == "in step 1 on rank 0, inputs [2, 4], targets [2]");
  use(false);
  CHECK(failed_step().empty());
}

TEST_CASE("session: the model of the highest score is kept, restarts included") {
  const TemporaryFolder folder;
  const SessionOptions options{.epochs = 3, .batch_size = data_size};
  const auto best = [&] { return read_pt_file(folder / "snapshot.pt.best").toGenericDict(); };
  std::vector<bool> is_best;
  const auto keep = [&](const std::vector<double>& scores) {
    SessionJob job(folder, options);
    job.train([&](const Step&) {
      is_best.push_back(job.session.keep_best(scores[is_best.size()]));
      if (is_best.size() == scores.size()) job.session.end_after_step();
    });
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  keep({nan, 0.5});
  const Tensor weight = best().at("MODEL_STATE").toGenericDict().at("0.weight").toTensor();
  keep({nan, 0.5, 0.4});
  CHECK(is_best == std::vector<bool>{false, true, false});
  CHECK(best().at("SCORE").toDouble() == 0.5);
  CHECK(best().at("EPOCH").toInt() == 1);
  CHECK(best().at("STEP").toInt() == 1);
  CHECK(torch::equal(best().at("MODEL_STATE").toGenericDict().at("0.weight").toTensor(), weight));
}

TEST_CASE("session: the step that has the best model is saved as well") {
  const TemporaryFolder folder;
  SessionJob job(folder, {.epochs = 2, .batch_size = data_size, .save_every_epochs = 2});
  job.train(
      [&](const Step& step) { CHECK(job.session.keep_best(1) == (step.position.step == 0)); });
  CHECK(folder.names() ==
        std::vector<std::string>{
            "snapshot.pt", "snapshot.pt.0.1", "snapshot.pt.0.2", "snapshot.pt.best"});
}

TEST_CASE("session: the best model comes before the first snapshot, and makes their folder") {
  const TemporaryFolder folder;
  Context context = context_in(folder);
  context.snapshot = folder / "new" / "snapshot.pt";
  Session session({.batch_size = data_size}, context);
  nn::Linear net(1, 1);
  torch::optim::SGD optimizer(net->parameters(), 0.5);
  const auto parallel = session.prepare(net, optimizer);
  CHECK(session.keep_best(1));
  CHECK(read_pt_file(session.best_path()).toGenericDict().at("SCORE").toDouble() == 1);
}

TEST_CASE("session: a best model that cannot be written is told, and the training goes on") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "snapshot.pt.best");
  test::write_bytes(folder / "snapshot.pt.best" / "file", "");
  SessionJob job(folder, {.batch_size = data_size});
  job.train([&](const Step&) { CHECK(job.session.keep_best(1)); });
  CHECK(job.session.position().epoch == 1);
}

TEST_CASE("session: a loop that ends early has saved its last step, and goes on from there") {
  const TemporaryFolder folder;
  const TemporaryFolder undisturbed;
  const SessionOptions options{.epochs = 2, .batch_size = 8};
  {
    SessionJob job(folder, options);
    job.train([&](const Step& step) {
      REQUIRE(step.position.step < 2);
      if (step.position.step == 1) job.session.end_after_step();
    });
    CHECK(job.session.position() == Position{.batch = 2, .samples = 16, .step = 2});
  }
  SessionJob job(folder, options);
  SessionJob whole(undisturbed, options);
  for (SessionJob* each : {&job, &whole}) each->train();
  CHECK(torch::equal(job.net->parameters()[0], whole.net->parameters()[0]));
}

/// One layer in two places.
struct TiedLayersImpl : nn::Module {
  TiedLayersImpl()
      : first(register_module("first", nn::Linear(3, 3))),
        again(register_module("again", first)),
        last(register_module("last", nn::Linear(3, 1))) {}
  Tensor forward(const Tensor& inputs) { return last(again(first(inputs).tanh()).tanh()); }
  nn::Linear first;
  nn::Linear again;
  nn::Linear last;
};
TORCH_MODULE(TiedLayers);

TEST_CASE("session: tied parameters are clipped, scaled and changed once, as in Python") {
  for (const torch::ScalarType precision : {torch::kFloat, torch::kHalf}) {
    CAPTURE(precision);
    const TemporaryFolder folder;
    SessionOptions options{.steps_max = 1, .batch_size = 4};
    if (precision == torch::kHalf) options.precision = precision;
    Session session(options, context_in(folder));
    TiedLayers net;
    torch::optim::SGD optimizer(net->parameters(), 0.5);
    auto parallel = session.prepare(net, optimizer);
    const Tensor before = net->first->weight.detach().clone();
    const double scale = precision == torch::kHalf ? 65'536 : 1;
    for ([[maybe_unused]] const Step& step : session.steps(4)) {
      session.backward(parallel(torch::ones({4, 3})).square().mean());
      double squares = 0;
      for (const nn::Linear& layer : {net->first, net->last}) {
        for (const Tensor& each : layer->parameters()) {
          squares += each.grad().div(scale).square().sum().item<double>();
        }
      }
      const Tensor expected = net->first->weight.grad() / scale;
      CHECK(session.clip_gradients(1e9) == doctest::Approx(std::sqrt(squares)));
      session.step();
      CHECK(torch::allclose((before - net->first->weight.detach()) / 0.5, expected, 1e-3, 1e-6));
    }
  }
}

TEST_CASE("session: the schedule sets the rates, after a restart as before it") {
  const TemporaryFolder folder;
  std::vector<double> rates;
  for (const std::int64_t epochs : {1, 2}) {
    SessionJob job(folder, {.epochs = epochs, .batch_size = 10, .schedule = [](double done) {
                              return 1 - done / 10;
                            }});
    job.train([&](const Step& step) {
      if (step.position.batch > 0) rates.push_back(job.rate());  // of the step before
    });
    rates.push_back(job.rate());
  }
  CHECK(rates.size() == 4);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    CHECK(rates[i] == doctest::Approx(0.01 * (1 - 0.05 * static_cast<double>(i))));
  }
}

TEST_CASE("session: a loss that is no finite number ends the training before its step") {
  const TemporaryFolder folder;
  SessionJob job(folder, {.batch_size = 8});
  auto parallel = job.session.prepare(job.net, job.optimizer);
  const auto infinite = torch::tensor(std::numeric_limits<float>::infinity());
  for (const Step& step : job.session.steps(data_size)) {
    if (step.position.step == 1) {
      const auto error = error_of([&] { job.session.backward(infinite); });
      CHECK(contains(error, "the loss is inf in epoch 0, step 1 on rank 0"));
    }
    const auto error = error_of([&] { job.session.backward(torch::ones({2})); });
    CHECK(contains(error, text("a loss of shape [2] in step ", step.position.step, " on rank 0")));
  }
}

TEST_CASE("session: calls in the wrong order say which one comes first") {
  const TemporaryFolder folder;
  SessionJob job(folder, {});
  const auto early = [&](const std::function<void()>& call) {
    return contains(error_of(call), "of a session was called before prepare(); call that first");
  };
  CHECK(early([&] { static_cast<void>(job.session.steps(data_size)); }));
  CHECK(early([&] { static_cast<void>(job.session.evaluation(data_size, 5)); }));
  CHECK(early([&] { job.session.step(); }));
  static_cast<void>(job.session.prepare(job.net, job.optimizer));
  CHECK(contains(error_of([&] { static_cast<void>(job.session.prepare(job.net, job.optimizer)); }),
                 "prepare() of a session was called twice"));
}

TEST_CASE("session: the state that an optimizer makes itself is kept, and its kind known") {
  const TemporaryFolder folder;
  Session session({}, context_in(folder));
  nn::Linear net(2, 1);
  torch::optim::Adagrad optimizer(net->parameters(),
                                  torch::optim::AdagradOptions(0.1).initial_accumulator_value(4));
  auto parallel = session.prepare(net, optimizer);
  session.backward(parallel(torch::ones({1, 2})).sum());
  const Tensor before = net->bias.detach().clone();
  session.step();
  CHECK((before - net->bias).item<double>() == doctest::Approx(0.1 / std::sqrt(4 + 1)));
}

/// Steps in float16, of which the second has an overflow.
TEST_CASE("session: a step whose scaled gradients overflow changes nothing, also after a restart") {
  const TemporaryFolder folder;
  const SessionOptions options{.batch_size = 8, .save_every = 1, .precision = torch::kHalf};
  std::vector<Tensor> weights;
  {
    Session session(options, context_in(folder));
    nn::Linear net(1, 1);
    torch::optim::SGD optimizer(net->parameters(), 0.1);
    auto parallel = session.prepare(net, optimizer);
    for (const Step& step : session.steps(data_size)) {
      const double factor = step.position.step == 1 ? 1e36 : 1;  // times 65,536 beyond float32
      session.backward(parallel(torch::ones({1, 1})).sum() * factor);
      const double norm = session.clip_gradients(1e30);
      CHECK((factor == 1 ? norm == doctest::Approx(std::sqrt(2)) : std::isinf(norm)));
      session.step();
      weights.push_back(net->weight.detach().clone());
    }
  }
  CHECK((weights[0] - weights[2]).item<double>() == doctest::Approx(0.1));
  CHECK(torch::equal(weights[0], weights[1]));
  const auto saved = from_value(read_pt_file(folder / "snapshot.pt"));
  CHECK(saved.scaler_state.toGenericDict().at("scale").toDouble() == 32'768);
  Session session(options, context_in(folder));
  nn::Linear net(1, 1);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  auto parallel = session.prepare(net, optimizer);
  session.backward(parallel(torch::ones({1, 1})).sum());
  CHECK(net->weight.grad().item<double>() == 32'768);
}

TEST_CASE("session: what a program adds to the snapshot comes back with it") {
  const TemporaryFolder folder;
  {
    SessionJob job(folder, {});
    job.session.user_fields()["BEST"] = 0.5;
    job.train();
  }
  SessionJob job(folder, {});
  static_cast<void>(job.session.prepare(job.net, job.optimizer));
  CHECK(job.session.user_fields().at("BEST").toDouble() == 0.5);
}

TEST_CASE("session: a user field with a name of the runtime's is refused, before it is saved") {
  const TemporaryFolder folder;
  const auto error_with = [&](const std::string& name, std::int64_t step_set_in) {
    SessionJob job(folder, {});
    auto& fields = job.session.user_fields();
    if (step_set_in < 0) fields[name] = 1;
    return error_of([&] {
      job.train([&](const Step& step) {
        CHECK(step_set_in >= 0);
        if (step.position.step == step_set_in) fields[name] = 1;
      });
    });
  };
  CHECK(contains(error_with("OPTIMIZER_CHANGES", -1), "cannot be called OPTIMIZER_CHANGES"));
  CHECK(contains(error_with("BEST_SCORE", 0), "cannot be called BEST_SCORE"));
  CHECK(folder.names().empty());
}

}  // namespace
}  // namespace ddprun::worker
