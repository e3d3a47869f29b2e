// How long a snapshot holds up the steps of a network of 100 million parameters with Adam, 1.2 GB
// in a file: when it is written beside them, and when they wait for it. The same steps without a
// snapshot are taken off. All three in turns; medians. FOLDER is on a disk with 2.5 GB free.
#include "ddprun/optimizers.hpp"
#include "ddprun/run.hpp"
#include "ddprun/session.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
namespace nn = torch::nn;

constexpr std::int64_t width = 2048;
constexpr int layers_count = 24;  // 100.7 million parameters
constexpr std::int64_t batch_size = 1;
constexpr std::int64_t save_every = 8;
constexpr std::int64_t steps_count = 2 * save_every - 1;  // so one snapshot in the middle
constexpr int rounds_count = 5;

using Clock = std::chrono::steady_clock;

/// Whose forward and backward pass take longer than a copy of the parameters, as those of a real
/// one do.
struct NetImpl : nn::Module {
  NetImpl() {
    for (int i = 0; i < layers_count; ++i) {
      layers.push_back(register_parameter(std::to_string(i), torch::rand({width, width})));
    }
  }
  torch::Tensor forward() {
    torch::Tensor loss = torch::zeros({});
    for (const torch::Tensor& layer : layers) loss = loss + layer.sin().tanh().exp().mean();
    return loss;
  }
  std::vector<torch::Tensor> layers;
};
TORCH_MODULE(Net);

/// From the beginning of the second step to the end of the last one, in s.
double time_steps(const std::filesystem::path& folder, worker::SessionOptions options) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  worker::Context context;
  context.snapshot = folder / "snapshot.pt";
  options.batch_size = batch_size;
  worker::Session session(options, context);
  Net net;
  worker::Adam optimizer(net->parameters(), 1e-4);
  auto parallel = session.prepare(net, optimizer);
  Clock::time_point start;
  Clock::time_point end;
  for (const worker::Step& step : session.steps(steps_count * batch_size)) {
    if (step.position.step == 1) start = Clock::now();
    session.backward(parallel());
    session.step();
    end = Clock::now();
  }
  return std::chrono::duration<double>(end - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(const std::vector<std::string>& words) {
  if (words.size() != 1) throw worker::UsageError("usage: snapshot_stall FOLDER");
  const std::filesystem::path folder = std::filesystem::path(words[0]) / "snapshot_stall";
  std::vector<double> steps;
  std::vector<double> beside;
  std::vector<double> waiting;
  for (int round = 0; round < rounds_count; ++round) {
    const double none = time_steps(folder, {});
    steps.push_back(none / static_cast<double>(steps_count - 1));
    beside.push_back(time_steps(folder, {.save_every = save_every}) - none);
    waiting.push_back(time_steps(folder, {.save_every = save_every, .saves_beside = false}) - none);
  }
  std::filesystem::remove_all(folder);
  std::printf(
      "a step: %.3f s; a snapshot beside the steps holds them up by %.3f s, by itself %.3f s\n",
      median(steps),
      median(beside),
      median(waiting));
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, measure);
}
