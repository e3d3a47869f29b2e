// A job that learns something, with examples/toy, while its hosts fail in every way there is.
#include "tests/hosts/chaos_run.hpp"
#include "tests/hosts/replay.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>

namespace hosts {
namespace {

constexpr int epochs_at_end = 12;  // in calm, once all faults are over

void suffer_in_training(const Sufferer& usual) {
  const ChaosRun run(usual);
  Options options = run.options();
  options["claim-dir"] = usual.claims ? snapshot_folder : "none";
  options["snapshot"] = std::string(snapshot_folder) + "/snapshot.pt";
  const std::chrono::seconds time_max = 2 * run.time_max();  // all of it is trained again
  Training job(suffering_hosts, options, {.time_max = time_max}, {"./train.sh"});
  const e2e::Case& test = job.cluster().test();
  const KeptLogs kept(test.folder());
  REQUIRE(test.script("train.sh", training_script()) == "./train.sh");
  test.write("epochs", "1000000000");
  job.start_all();
  Chaos chaos(job, run.sufferer, progress_by_snapshots(job, snapshot_folder));
  chaos.wait_until_trained(Nanoseconds(0));
  chaos.play(run.faults);

  const std::int64_t total_epochs = newest_epoch(job) + epochs_at_end;
  test.write("epochs", std::to_string(total_epochs));
  chaos.kill_worker(0);  // whoever is started from now on reads that
  for (int host = 0; host < suffering_hosts; ++host) CHECK(job.agent_of(host).wait() == 0);
  conclude(job, chaos);
  expect_same_training(job, total_epochs);
  std::printf("training: %lld epochs, trained again without faults: the same\n",
              static_cast<long long>(total_epochs));
}

}  // namespace

TEST_CASE("hosts: a job that suffers every kind of fault learns what it would have without") {
  if (!can_hold_hosts()) return;
  suffer_in_training({.nodes_min = 2});
}

TEST_CASE("hosts: a job in a shared folder that suffers every kind of fault learns the same") {
  if (!can_hold_hosts()) return;
  suffer_in_training({.claims = true, .nodes_min = suffering_hosts});
}

}  // namespace hosts
