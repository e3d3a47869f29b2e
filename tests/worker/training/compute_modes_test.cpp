#include "worker/training/compute_modes.hpp"

#include "ddprun/optimizers.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/session.hpp"
#include "ddprun/snapshot.hpp"
#include "ddprun/tensor_data.hpp"
#include "tests/worker/support.hpp"
#include "worker/torch_compat.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace ddprun::worker {
namespace {

namespace nn = torch::nn;
using test::contains;
using test::error_of;
using test::TemporaryFolder;
using torch::Tensor;
constexpr auto channels_last_format = torch::MemoryFormat::ChannelsLast;

/// Trains a small network on pictures for `epochs` of three steps, in the folder of its snapshots.
struct PictureJob {
  PictureJob(const TemporaryFolder& folder, const SessionOptions& options)
      : session(options, test::context_in(folder)) {}

  void train() {
    const TensorData data(at::rand({12, 3, 6, 6}, at::detail::createCPUGenerator(2)),
                          torch::arange(12, torch::kLong) % 3);
    BatchLoader loader(data, {.threads = 1});
    auto parallel = session.prepare(net, optimizer);
    for (const Step& step : session.steps(loader)) {
      inputs = step.batch.inputs;
      session.backward(torch::cross_entropy_loss(parallel(inputs), step.batch.targets));
      session.step();
    }
  }

  Session session;
  // A bias before the norm would get rounding errors for a gradient, which Adam makes steps of.
  nn::Sequential net{nn::Conv2d(nn::Conv2dOptions(3, 8, 3).bias(false)),
                     nn::BatchNorm2d(8),
                     nn::ReLU(),
                     nn::AdaptiveAvgPool2d(1),
                     nn::Flatten(),
                     nn::Linear(8, 3)};
  Adam optimizer{net->parameters(), {}};
  Tensor inputs;
};

TEST_CASE("channels_last: the model and the batches have it, and the numbers differ by rounding") {
  const TemporaryFolder folder;
  const TemporaryFolder other_folder;
  PictureJob job(folder, {.epochs = 2, .batch_size = 4, .channels_last = true});
  PictureJob contiguous(other_folder, {.epochs = 2, .batch_size = 4});
  job.train();
  contiguous.train();
  CHECK(job.net->parameters()[0].is_contiguous(channels_last_format));
  CHECK(job.inputs.is_contiguous(channels_last_format));
  CHECK_FALSE(contiguous.inputs.is_contiguous(channels_last_format));
  for (std::size_t i = 0; i < job.net->parameters().size(); ++i) {
    CHECK(torch::allclose(job.net->parameters()[i], contiguous.net->parameters()[i], 0, 2e-5));
  }
}

TEST_CASE("channels_last: snapshots are contiguous, and a restart goes on to the same bits") {
  const TemporaryFolder whole_folder;
  const TemporaryFolder folder;
  PictureJob whole(whole_folder, {.epochs = 2, .batch_size = 4, .channels_last = true});
  whole.train();
  PictureJob(folder, {.epochs = 1, .batch_size = 4, .channels_last = true}).train();
  const Snapshot saved = from_value(read_pt_file(folder / "snapshot.pt"));
  CHECK(saved.model_state["0.weight"].is_contiguous());
  const auto states = saved.optimizer_state.toGenericDict().at("state").toGenericDict();
  CHECK(states.at(0).toGenericDict().at("exp_avg").toTensor().is_contiguous());
  PictureJob again(folder, {.epochs = 2, .batch_size = 4, .channels_last = true});
  again.train();
  for (std::size_t i = 0; i < whole.net->parameters().size(); ++i) {
    CHECK(torch::equal(again.net->parameters()[i], whole.net->parameters()[i]));
  }
  const Tensor weight = again.net->parameters()[0];
  auto& state = *again.optimizer.state().at(compat::state_key(again.optimizer, weight));
  CHECK(weight.is_contiguous(channels_last_format));
  CHECK(static_cast<torch::optim::AdamParamState&>(state).exp_avg().is_contiguous(
      channels_last_format));
}

TEST_CASE("deterministic: operators without a deterministic way throw") {
  const TemporaryFolder folder;
  const Session session({.deterministic = true}, test::context_in(folder));
  CHECK_FALSE(at::globalContext().benchmarkCuDNN());
  torch::Tensor numbers = torch::zeros({3});  // of one index written twice any value may stay
  const auto put = [&] { numbers.put_(torch::tensor({1, 1}), torch::tensor({2.F, 3.F})); };
  CHECK(contains(error_of(put), "deterministic"));
  at::globalContext().setDeterministicAlgorithms(false, false);
  CHECK(error_of(put).empty());
}

TEST_CASE("deterministic: a GPU needs the variable that cuBLAS reads") {
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  const auto begin = [] { compute_deterministically(torch::kCUDA); };
  CHECK(contains(error_of(begin),
                 "CUBLAS_WORKSPACE_CONFIG=:4096:8, or :16:8 for less memory, in "
                 "the environment of the program, but it is not set"));
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":0:0", 1);
  CHECK(contains(error_of(begin), "but it is \":0:0\"; export it"));
  CHECK_FALSE(at::globalContext().deterministicAlgorithms());
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", 1);
  CHECK(error_of(begin).empty());
  CHECK(at::globalContext().deterministicAlgorithms());
  at::globalContext().setDeterministicAlgorithms(false, false);
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
}

}  // namespace
}  // namespace ddprun::worker
