// A job that learns something, with examples/toy.cpp, while its hosts fail in every way there is.
// CHAOS_SEED, CHAOS_TIMES (each kind of fault), CHAOS_DEAD_AFTER (ms) and CHAOS_LOGS (a folder that
// keeps what was said) are for chaos.sh.
#include "tests/hosts/chaos.hpp"

#include "tests/hosts/replay.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace hosts {
namespace {

using std::chrono::milliseconds;

constexpr int host_count = 4;
constexpr int epochs_at_end = 12;  // in calm, once all faults are over

long number_from(const char* variable, long otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atol(text);
}

struct ChaosPlan {
  std::uint64_t seed = static_cast<std::uint64_t>(number_from("CHAOS_SEED", 1));
  int times = static_cast<int>(number_from("CHAOS_TIMES", 1));
  milliseconds dead_after{number_from("CHAOS_DEAD_AFTER", hosts::dead_after.count())};
  [[nodiscard]] std::chrono::seconds time_max() const {
    return std::chrono::duration_cast<std::chrono::seconds>(dead_after * 80 * times);
  }
};

Options chaos_options(const ChaosPlan& plan, bool claims) {
  return {{"claim-dir", claims ? snapshot_folder : "none"},
          {"nnodes", "2:" + std::to_string(host_count)},
          {"nproc-per-node", "1"},
          {"max-restarts", "1000"},
          {"replace-timeout", "30s"},
          {"snapshot", std::string(snapshot_folder) + "/snapshot.pt"},
          {"dead-after", std::to_string(plan.dead_after.count()) + "ms"}};
}

/// Copies a folder to CHAOS_LOGS, however the test ends.
class KeptLogs {
 public:
  explicit KeptLogs(std::filesystem::path folder) : folder_(std::move(folder)) {}
  KeptLogs(const KeptLogs&) = delete;
  KeptLogs& operator=(const KeptLogs&) = delete;
  ~KeptLogs() {
    using std::filesystem::copy_options;
    const char* const to = std::getenv("CHAOS_LOGS");
    if (to == nullptr) return;
    std::error_code failure;
    std::filesystem::copy(
        folder_, to, copy_options::recursive | copy_options::copy_symlinks, failure);
    if (failure) std::printf("cannot keep logs in %s: %s\n", to, failure.message().c_str());
  }

 private:
  std::filesystem::path folder_;
};

void suffer(bool claims) {
  const ChaosPlan plan;
  std::printf("seed %llu, %d of each fault, --dead-after %lld ms\n",
              static_cast<unsigned long long>(plan.seed),
              plan.times,
              static_cast<long long>(plan.dead_after.count()));
  Training job(
      host_count, chaos_options(plan, claims), {.time_max = plan.time_max()}, {"./train.sh"});
  const e2e::Case& test = job.cluster().test();
  const KeptLogs kept(test.folder());
  REQUIRE(test.script("train.sh", training_script()) == "./train.sh");
  test.write("epochs", "1000000000");
  job.start_all();
  Chaos chaos(job, snapshot_folder);
  chaos.wait_until_trained(0);
  chaos.play(draw_faults(plan.seed, plan.times, plan.dead_after));

  const std::int64_t total_epochs = newest_epoch(job) + epochs_at_end;
  test.write("epochs", std::to_string(total_epochs));
  chaos.kill_worker(0);  // whoever is started from now on reads that
  for (int host = 0; host < host_count; ++host) CHECK(job.agent_of(host).wait() == 0);
  std::printf("%d generations\n%s", job.newest(), chaos.table().c_str());
  expect_same_training(job, total_epochs);
  std::printf("%lld epochs, trained again without faults: the same\n",
              static_cast<long long>(total_epochs));
}

}  // namespace

TEST_CASE("hosts: a job that suffers every kind of fault learns what it would have without") {
  if (!can_hold_hosts()) return;
  suffer(false);
}

TEST_CASE("hosts: a job in a shared folder that suffers every kind of fault learns the same") {
  if (!can_hold_hosts()) return;
  suffer(true);
}

}  // namespace hosts
