// How long a session takes to resume a network of 100 million parameters with Adam, 1.2 GB in a
// file, and what the ranks read for it. Run it by ddprun or torchrun, with DDPRUN_SNAPSHOT set; the
// first start trains a step and saves it.
#include "bench/large_net.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/run.hpp"
#include "ddprun/session.hpp"

#include <torch/torch.h>

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace ddprun;

struct NetImpl : LargeNet {
  torch::Tensor forward() {
    return sum([](const torch::Tensor& layer) { return layer.mean(); });
  }
};
TORCH_MODULE(Net);

/// By read() and its like, from files: Gloo receives by recv(), which does not count.
std::int64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::int64_t bytes = 0;
  io >> name >> bytes;  // "rchar: 123"
  return bytes;
}

double processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Of this process, at most until now, in MB.
double memory_max() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e3;
}

void measure(const std::vector<std::string>& words) {
  if (!words.empty()) throw worker::UsageError("usage: resume, with DDPRUN_SNAPSHOT set");
  worker::Session session({.batch_size = 1});
  Net net;
  worker::Adam optimizer(net->parameters(), 1e-4);
  session.group().barrier();
  const std::int64_t bytes_before = bytes_read();
  const double processor_before = processor_time();
  const auto start = std::chrono::steady_clock::now();
  auto parallel = session.prepare(net, optimizer);
  session.group().barrier();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const torch::Tensor sums = torch::tensor({static_cast<double>(bytes_read() - bytes_before) / 1e6,
                                            processor_time() - processor_before,
                                            memory_max()},
                                           torch::kDouble);
  session.group().all_reduce_sum(sums);
  if (session.is_rank_0()) {
    std::printf(
        "step %lld: %.2f s, all %d ranks read %.0f MB, used %.2f s of processor time, and "
        "had up to %.0f MB of memory each\n",
        static_cast<long long>(session.position().step),
        taken.count(),
        session.group().size(),
        sums[0].item<double>(),
        sums[1].item<double>(),
        sums[2].item<double>() / session.group().size());
  }
  for (const worker::Step& step : session.steps(session.group().size())) {
    static_cast<void>(step);
    session.backward(parallel());
    session.step();
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, measure);
}
