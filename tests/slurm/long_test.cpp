// A job that is queued again where Slurm has its own times, by which it waits for two minutes. That
// takes longer than a test may, so it runs by its name alone, `slurm_tests -tc='slurm long: *'`, or
// by tests/slurm/long.sh. It prints how long the job has waited.
#include "tests/slurm/slurm_cluster.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>

namespace slurm {
namespace {

using e2e::Clock;

/// slurm.conf(5), AuthInfo: cred_expire, which is 120 s; and a second.
constexpr std::int64_t default_wait_s = 121;
constexpr int epochs_more = 5;

/// An epoch takes about a second, after each of which workers may stop.
constexpr const char* long_script =
    "echo restarts ${SLURM_RESTART_COUNT-none}\n" E2E_DDPRUN
    " --requeue=1 --snapshot=snapshot.pt " SLURM_TOY " $(cat epochs) 1000000 --batch-size 1\n";

/// How many epochs were finished when the snapshot was saved; -1 if none was.
int epochs_saved(const std::string& said) {
  const std::size_t end = said.find(" | Training snapshot saved");
  if (end == std::string::npos) return -1;
  const std::string word = "Epoch ";
  return std::stoi(said.substr(said.rfind(word, end) + word.size())) + 1;
}

/// From when the job was queued again until Slurm lets it run, by what Slurm says.
std::int64_t wait_s_of(SlurmCluster& slurm, int job) {
  std::istringstream times(slurm.ask({"env",
                                      "SLURM_TIME_FORMAT=%s",
                                      "squeue",
                                      "--noheader",
                                      "--jobs=" + std::to_string(job),
                                      "--Format=SubmitTime:20,EligibleTime:20"}));
  std::int64_t queued = 0;
  std::int64_t eligible = 0;
  times >> queued >> eligible;
  return eligible - queued;
}

}  // namespace

TEST_CASE("slurm long: a job that is queued again goes on after Slurm's own two minutes") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2, {.time_max = std::chrono::seconds(400)}, Binding::none, Timing::defaults);
  slurm.test().write("epochs", "1000000");
  const Words sbatch{"--nodes=2", "--time=1", "--requeue", "--open-mode=append"};
  const int job = slurm.submit(long_script, sbatch);  // of its minute half is left over
  const auto said = [&](const std::string& text) { return e2e::count_of(text, slurm.output(job)); };
  slurm.wait_until("job that is queued again", [&] { return said("queueing Slurm job ") > 0; });
  const auto queued = Clock::now();
  slurm.wait_until("job that waits", [&] { return slurm.job(job)["JobState"] == "PENDING"; });
  const std::int64_t wait_s = wait_s_of(slurm, job);
  CHECK(wait_s == default_wait_s);

  const int epochs = epochs_saved(slurm.output(job));
  slurm.test().write("epochs", std::to_string(epochs + epochs_more));
  slurm.wait_until("second run", [&] { return said("restarts 1\n") > 0; });
  const std::chrono::duration<double> waited = Clock::now() - queued;

  const Record record = slurm.wait_for_end(job);
  const std::string output = slurm.output(job);
  CHECK_MESSAGE(record.at("JobState") == "COMPLETED", output);
  CHECK(record.at("Restarts") == "1");
  CHECK_MESSAGE(said("restarts none\n") == 1, output);
  CHECK_MESSAGE(said("exit status 75: stopped before its time limit") == 1, output);
  CHECK_MESSAGE(epochs > 0, output);
  const std::string resumed = "Resuming training from snapshot at Epoch ";
  CHECK_MESSAGE(said(resumed + std::to_string(epochs) + "\n") == 2, output);
  CHECK_MESSAGE(said("Epoch " + std::to_string(epochs + epochs_more - 1) + " |") == 2, output);
  CHECK_MESSAGE(said("Final model saved") == 1, output);
  std::printf("| wait that Slurm names | until the script runs again |\n| %d s | %.1f s |\n",
              static_cast<int>(wait_s),
              waited.count());
}

}  // namespace slurm
