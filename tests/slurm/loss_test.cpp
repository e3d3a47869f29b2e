// What becomes of nodes, jobs and steps when hosts and daemons are lost and come back.
#include "tests/slurm/slurm_cluster.hpp"

#include <doctest/doctest.h>

#include <string>

namespace slurm {
namespace {

/// A line of a script: a step on that node, which says that it is up and goes on when told so.
std::string step_on(const std::string& node) {
  return "srun --overlap --no-kill -N1 -n1 -w " + node + " sh -c 'touch up." + node + "; " +
         wait_for_file("go") + "; echo $(uname -n) went on' &\n";
}

void wait_for_steps(SlurmCluster& slurm) {
  slurm.cluster().wait_until("steps", [&] {
    for (int node = 0; node < slurm.size(); ++node) {
      if (!slurm.test().has("up." + slurm[node].name())) return false;
    }
    return true;
  });
}

}  // namespace

TEST_CASE("slurm kit: a node without power is DOWN soon, and idle when it has power again") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  slurm.power_off(1);
  slurm.wait_until_down(1);
  CHECK(slurm.node(0).at("State") == "IDLE");
  slurm.power_on(1);
  slurm.wait_until_idle();
}

TEST_CASE("slurm kit: script and steps of a job go on without a node when it asks for that") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(3);
  const int job = slurm.submit(step_on("n0") + step_on("n1") + step_on("n2") +
                                   "wait\nsrun --overlap -N1 -n1 -w n1 echo one more\n",
                               {"--nodes=3", "--no-kill"});
  wait_for_steps(slurm);
  slurm.power_off(2);
  slurm.wait_until_down(2);
  CHECK(slurm.job(job).at("JobState") == "RUNNING");
  slurm.test().write("go", "");
  CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");
  for (const std::string said : {"n0 went on", "n1 went on", "one more"}) {
    slurm.expect_output(job, said + "\n");
  }
  slurm.expect_output(job, "n2 went on\n", 0);
}

TEST_CASE("slurm kit: a node that is back before it was DOWN gets a new step of its job") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  const int job = slurm.submit(
      "touch up.n0 up.n1\n" + wait_for_file("go") + "\nsrun --overlap -N1 -n1 -w n1 uname -n\n",
      {"--nodes=2", "--no-kill"});
  wait_for_steps(slurm);
  slurm.power_off(1);
  slurm.power_on(1);
  slurm.test().write("go", "");
  CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");
  CHECK(slurm.output(job) == "n1\n");
}

TEST_CASE("slurm kit: steps outlive their node's slurmd") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  const int job = slurm.submit(step_on("n0") + step_on("n1") + "wait\n", {"--nodes=2"});
  wait_for_steps(slurm);
  slurm.slurmd(1).kill();
  slurm.slurmd(1).reap();
  slurm.start_slurmd(1);
  slurm.test().write("go", "");
  CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");
  slurm.expect_output(job, "n1 went on\n");
}

}  // namespace slurm
