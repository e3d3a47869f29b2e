#include "tests/hosts/chaos_run.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace hosts {
namespace {

using std::chrono::milliseconds;

long number_from(const char* variable, long otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atol(text);
}

}  // namespace

ChaosRun::ChaosRun(const Sufferer& usual) : sufferer(usual) {
  sufferer.patience = milliseconds(number_from("CHAOS_DEAD_AFTER", dead_after.count()));
  sufferer.nodes_max = suffering_hosts;
  sufferer.nodes_min = static_cast<int>(number_from("CHAOS_MIN", usual.nodes_min));
  const FaultPlan plan{.seed = static_cast<std::uint64_t>(number_from("CHAOS_SEED", 1)),
                       .times = static_cast<int>(number_from("CHAOS_TIMES", 1))};
  faults = draw_faults(plan, sufferer);
  std::printf("seed %llu, %zu faults, %d of each kind, --nnodes %d:%d, %s, --dead-after %lld ms\n",
              static_cast<unsigned long long>(plan.seed),
              faults.size(),
              plan.times,
              sufferer.nodes_min,
              sufferer.nodes_max,
              sufferer.claims ? "claims" : "votes",
              static_cast<long long>(sufferer.patience.count()));
}

std::chrono::seconds ChaosRun::time_max() const {
  constexpr int patiences_for_one = 12;  // several times what a fault takes
  const auto in_all = sufferer.patience * patiences_for_one * static_cast<int>(faults.size());
  return std::chrono::duration_cast<std::chrono::seconds>(in_all);
}

Options ChaosRun::options() const {
  return {{"nnodes", std::to_string(sufferer.nodes_min) + ":" + std::to_string(sufferer.nodes_max)},
          {"nproc-per-node", "1"},
          {"max-restarts", "1000"},
          {"join-timeout", "60s"},  // longer than any fault lasts
          {"replace-timeout", "60s"},
          {"dead-after", std::to_string(sufferer.patience.count()) + "ms"}};
}

KeptLogs::KeptLogs(std::filesystem::path folder) : folder_(std::move(folder)) {}

KeptLogs::~KeptLogs() {
  using std::filesystem::copy_options;
  const char* const to = std::getenv("CHAOS_LOGS");
  if (to == nullptr) return;
  std::error_code failure;
  std::filesystem::remove(folder_ / watch_socket, failure);  // which cannot be copied
  std::filesystem::copy(
      folder_, to, copy_options::recursive | copy_options::copy_symlinks, failure);
  if (failure) std::printf("cannot keep logs in %s: %s\n", to, failure.message().c_str());
}

void conclude(Training& job, Chaos& chaos) {
  const std::vector<Life> lives = job.cluster().watch().lives();
  std::printf("%s", chaos.table().c_str());
  std::printf(
      "verdict: %zu faults, %d generations, %zu workers; %zu pairs lived at once that must "
      "not\n",
      chaos.faults_count(),
      newest_of(job).number,
      lives.size(),
      chaos.overlaps_count());
  CHECK(chaos.overlaps_count() == 0);
}

}  // namespace hosts
