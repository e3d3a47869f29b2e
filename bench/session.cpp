// What Session costs a step, by processor time: blocks of steps in turns, of a session and of a
// loop that only trains. Both are one rank with the same network and the same samples.
#include "ddprun/session.hpp"

#include "bench/measure.hpp"
#include "ddprun/run.hpp"

#include <torch/torch.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;
namespace nn = torch::nn;

constexpr std::int64_t batch_size = 32;
constexpr std::int64_t features_count = 64;
constexpr int rounds_count = 30;

struct Job {
  explicit Job(std::int64_t width, std::int64_t steps)
      : inputs(torch::rand({steps * batch_size, features_count})),
        targets(inputs.sum(1, true)),
        net(nn::Linear(features_count, width), nn::ReLU(), nn::Linear(width, 1)),
        optimizer(net->parameters(), 1e-3) {}

  Tensor inputs;
  Tensor targets;
  nn::Sequential net;
  torch::optim::SGD optimizer;
};

/// The time of a step, in us; the first one's is left out.
double time_loop(std::int64_t width, std::int64_t steps) {
  Job job(width, steps);
  const auto batches = torch::randperm(job.inputs.size(0), torch::kLong).split(batch_size);
  double start = 0;
  for (const Tensor& samples : batches) {
    if (start == 0 && &samples != batches.data()) start = bench::cpu_s();
    job.optimizer.zero_grad();
    const Tensor output = job.net->forward(job.inputs.index_select(0, samples));
    torch::mse_loss(output, job.targets.index_select(0, samples)).backward();
    job.optimizer.step();
  }
  return 1e6 * (bench::cpu_s() - start) / static_cast<double>(steps - 1);
}

double time_session(std::int64_t width, std::int64_t steps) {
  worker::Session session({.batch_size = batch_size});
  Job job(width, steps);
  auto parallel = session.prepare(job.net, job.optimizer);
  double start = 0;
  double end = 0;
  for (const worker::Step& step : session.steps(job.inputs.size(0))) {
    if (step.position.step == 1) start = bench::cpu_s();
    end = bench::cpu_s();  // what follows the last step saves a snapshot
    const Tensor output = parallel(job.inputs.index_select(0, step.samples));
    session.backward(torch::mse_loss(output, job.targets.index_select(0, step.samples)));
    session.step();
  }
  return 1e6 * (end - start) / static_cast<double>(steps - 2);
}

void measure(std::int64_t width, std::int64_t steps) {
  const auto folder = std::filesystem::temp_directory_path() / "ddprun-bench-session";
  std::vector<double> loops;
  std::vector<double> sessions;
  for (std::int64_t round = 0; round < rounds_count; ++round) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    std::filesystem::current_path(folder);
    loops.push_back(time_loop(width, steps));
    sessions.push_back(time_session(width, steps));
  }
  std::filesystem::remove_all(folder);
  const double loop = bench::median(loops);
  const double session = bench::median(sessions);
  std::printf("width %d: %.1f us a step by a loop, %.1f us by a session: %+.1f us, %+.2f %%\n",
              static_cast<int>(width),
              loop,
              session,
              session - loop,
              (session / loop - 1) * 100);
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, [](const std::vector<std::string>&) {
    torch::set_num_threads(1);
    measure(16, 200);
    measure(1024, 40);
    measure(8192, 20);
  });
}
