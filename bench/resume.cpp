// How long a session takes to resume a network of 100 million parameters with Adam, 1.2 GB in a
// file, and what the ranks read for it; then how long it takes to save it again. Run it by ddprun
// or torchrun, with DDPRUN_SNAPSHOT set; the first start trains a step and saves it. With the word
// "shards" snapshots are sharded.
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
  const bool has_shards = words == std::vector<std::string>{"shards"};
  if (!words.empty() && !has_shards) {
    throw worker::UsageError("usage: resume [shards], with DDPRUN_SNAPSHOT set");
  }
  worker::Session session({.epochs = 1'000, .batch_size = 1, .sharded_snapshots = has_shards});
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
  std::chrono::steady_clock::time_point end_of_step;
  for (const worker::Step& step : session.steps(session.group().size())) {
    static_cast<void>(step);
    session.backward(parallel());
    session.step();
    session.end_after_step();
    session.group().barrier();
    end_of_step = std::chrono::steady_clock::now();
  }
  const std::chrono::duration<double> saved_in = std::chrono::steady_clock::now() - end_of_step;
  const torch::Tensor memory = torch::tensor({memory_max()}, torch::kDouble);
  const double memory_of_rank_0 = memory_max();
  session.group().all_reduce_sum(memory);
  if (session.is_rank_0()) {
    std::printf("saved in %.2f s; rank 0 had up to %.0f MB of memory, all ranks %.0f MB\n",
                saved_in.count(),
                memory_of_rank_0,
                memory.item<double>());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, measure);
}
