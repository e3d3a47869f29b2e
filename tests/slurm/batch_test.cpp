// What batch scripts and their steps find where they run.
#include "tests/slurm/slurm_cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace slurm {
namespace {

/// The lines of a job's output, sorted, since steps print in any order.
Words sorted_output(SlurmCluster& slurm, int job) {
  Words lines = e2e::lines_of(slurm.output(job));
  std::ranges::sort(lines);
  return lines;
}

}  // namespace

TEST_CASE("slurm kit: a batch script runs on the first node and finds what Slurm documents") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(3);
  const int job = slurm.submit(
      "uname -n\n"
      "echo id $SLURM_JOB_ID, step ${SLURM_STEP_ID-none}, restarts ${SLURM_RESTART_COUNT-none}\n"
      "echo node $SLURMD_NODENAME, rank $SLURM_PROCID, of $SLURM_JOB_NUM_NODES\n"
      "echo $SLURM_CONF\n"
      "echo $SLURM_JOB_NODELIST\n" E2E_DDPRUN " hostlist expand $SLURM_JOB_NODELIST\n",
      {"--nodes=3"});
  CHECK(slurm.wait_for_end(job).at("BatchHost") == "n0");
  CHECK(slurm.output(job) == "n0\nid " + std::to_string(job) +
                                 ", step none, restarts none\n"
                                 "node n0, rank 0, of 3\n" +
                                 (slurm.test().folder() / "slurm.conf").string() +
                                 "\n"
                                 "n[0-2]\n"
                                 "n0\nn1\nn2\n");
}

TEST_CASE("slurm kit: a step runs a task on each host, and what tasks print comes back") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(3);
  const int job = slurm.submit(
      "srun sh -c 'echo $SLURM_PROCID on $(uname -n), $SLURMD_NODENAME of $SLURM_STEP_NODELIST'\n",
      {"--nodes=3"});
  CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");
  CHECK(sorted_output(slurm, job) ==
        Words{"0 on n0, n0 of n[0-2]", "1 on n1, n1 of n[0-2]", "2 on n2, n2 of n[0-2]"});
}

TEST_CASE("slurm kit: a step of one node runs there, with a clean environment too") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(3);
  const int job = slurm.submit(
      "clean='env -i PATH='$PATH' SLURM_CONF='$SLURM_CONF' SLURM_JOB_ID='$SLURM_JOB_ID\n"
      "$clean srun --export=ALL --overlap -N1 -n1 -w n2 sh -c 'echo $(uname -n) ${HOME-none}'\n",
      {"--nodes=3"});
  CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");
  CHECK(slurm.output(job) == "n2 none\n");
}

TEST_CASE("slurm kit: a job that fails has its script's status") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(1);
  const Record record = slurm.wait_for_end(slurm.submit("exit 3\n"));
  CHECK(record.at("JobState") == "FAILED");
  CHECK(record.at("ExitCode") == "3:0");
}

}  // namespace slurm
