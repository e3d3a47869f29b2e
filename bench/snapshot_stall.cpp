// How long a snapshot holds up the steps of a network of 100 million parameters with Adam, 1.2 GB
// in a file: when it is written beside them, the first and a later one, and when they wait for it.
// The same steps without a snapshot are taken off. All three in turns; medians. FOLDER is on a disk
// with 4 GB free.
#include "bench/large_net.hpp"
#include "bench/measure.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/run.hpp"
#include "ddprun/session.hpp"

#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace ddprun;

constexpr std::int64_t batch_size = 1;
constexpr std::int64_t save_every = 8;
constexpr std::int64_t steps_count = 3 * save_every;  // the last of three is not measured
constexpr int rounds_count = 5;

using Clock = std::chrono::steady_clock;

/// Whose forward and backward pass take longer than a copy of the parameters, as those of a real
/// one do.
struct NetImpl : LargeNet {
  torch::Tensor forward() {
    return sum([](const torch::Tensor& layer) { return layer.sin().tanh().exp().mean(); });
  }
};
TORCH_MODULE(Net);

/// Of the steps from one save to the next, in s.
struct Times {
  double first = 0;
  double later = 0;
};

Times time_steps(const std::filesystem::path& folder, worker::SessionOptions options) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  worker::Context context;
  context.snapshot = folder / "snapshot.pt";
  options.batch_size = batch_size;
  worker::Session session(options, context);
  Net net;
  worker::Adam optimizer(net->parameters(), 1e-4);
  auto parallel = session.prepare(net, optimizer);
  std::vector<Clock::time_point> ends;
  for (const worker::Step& step : session.steps(steps_count * batch_size)) {
    static_cast<void>(step);
    session.backward(parallel());
    session.step();
    ends.push_back(Clock::now());
  }
  const auto time_after = [&](std::int64_t saved) {
    const auto begin = ends.begin() + saved - 1;
    return std::chrono::duration<double>(*(begin + save_every) - *begin).count();
  };
  return {time_after(save_every), time_after(2 * save_every)};
}

void measure(const std::vector<std::string>& words) {
  if (words.size() != 1) throw worker::UsageError("usage: snapshot_stall FOLDER");
  const std::filesystem::path folder = std::filesystem::path(words[0]) / "snapshot_stall";
  std::vector<double> steps;
  std::vector<double> first;
  std::vector<double> later;
  std::vector<double> waiting;
  for (int round = 0; round < rounds_count; ++round) {
    const Times none = time_steps(folder, {});
    const Times beside = time_steps(folder, {.save_every = save_every});
    const Times by_itself = time_steps(folder, {.save_every = save_every, .saves_beside = false});
    steps.push_back(none.first / static_cast<double>(save_every));
    first.push_back(beside.first - none.first);
    later.push_back(beside.later - none.later);
    waiting.push_back(by_itself.later - none.later);
  }
  std::filesystem::remove_all(folder);
  std::printf(
      "a step: %.3f s; the first snapshot beside the steps holds them up by %.3f s, a later one by "
      "%.3f s; one by itself by %.3f s\n",
      bench::median(steps),
      bench::median(first),
      bench::median(later),
      bench::median(waiting));
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, measure);
}
