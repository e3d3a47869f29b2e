// How jobs are told to end, and begin again.
#include "tests/slurm/slurm_cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace slurm {
namespace {

/// The start of a shell script that writes each of these signals into the file "heard".
std::string hear(const std::string& who, const std::string& signals) {
  std::string text;
  for (std::size_t begin = 0; begin < signals.size();) {
    const std::size_t end = std::min(signals.find(' ', begin), signals.size());
    const std::string name = signals.substr(begin, end - begin);
    text += "trap 'echo " + who + " " + name + " >>heard' " + name + "\n";
    begin = end + 1;
  }
  return text + "touch " + who + "\n";
}

/// A batch script with a step on the second node; both hear signals, and wait for a file.
int submit_hearers(SlurmCluster& slurm, const std::string& signals, const std::string& file) {
  const std::string rest = wait_for_file(file) + "\n";
  const std::string step =
      slurm.test().script("step", "#!/bin/sh\n" + hear("task", signals) + rest);
  const std::string start = "srun --overlap -N1 -n1 -w n1 " + step + " &\n";
  const int job = slurm.submit(start + hear("script", signals) + rest + "wait\n", {"--nodes=2"});
  slurm.cluster().wait_until("script and task that hear", [&] {
    return slurm.test().has("script") && slurm.test().has("task");
  });
  return job;
}

}  // namespace

/// Slurm's limits are whole minutes, but the end of a job that runs can be set to a second. It
/// looks for such ends every 30 s.
TEST_CASE("slurm kit: a job is told to end at its time limit") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(1);
  const int job =
      slurm.submit("trap 'echo told; exit' TERM\ntouch up\n" + wait_for_file("never") + "\n");
  slurm.cluster().wait_until("script", [&] { return slurm.test().has("up"); });
  slurm.ask({"scontrol", "update", "JobId=" + std::to_string(job), "EndTime=now+1"});
  CHECK(slurm.wait_for_end(job).at("JobState") == "TIMEOUT");
  slurm.expect_output(job, "told\n");
}

TEST_CASE("slurm kit: scancel tells script and tasks to end and then kills them") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  const int job = submit_hearers(slurm, "CONT TERM", "never");
  slurm.ask({"scancel", std::to_string(job)});
  CHECK(slurm.wait_for_end(job).at("JobState") == "CANCELLED");
  slurm.wait_until_idle();  // it is called so before its processes have ended
  const std::string heard = slurm.test().read("heard");
  for (const char* who : {"script", "task"}) {
    CHECK_MESSAGE(e2e::count_of(std::string(who) + " CONT\n", heard) == 1, heard);
    CHECK_MESSAGE(e2e::count_of(std::string(who) + " TERM\n", heard) == 1, heard);
  }
}

TEST_CASE("slurm kit: scancel sends a signal to the script alone when it is asked to") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  const int job = submit_hearers(slurm, "USR1", "go");
  slurm.ask({"scancel", "--signal=USR1", "--batch", std::to_string(job)});
  slurm.cluster().wait_until("signal", [&] { return slurm.test().has("heard"); });
  slurm.test().write("go", "");
  CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");
  CHECK(slurm.test().read("heard") == "script USR1\n");
}

TEST_CASE("slurm kit: a job that is requeued runs again and knows it") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(2);
  const int job = slurm.submit(
      "echo restarts ${SLURM_RESTART_COUNT-none}\n"
      "[ -n \"$SLURM_RESTART_COUNT\" ] && exit\n"
      "touch up\n" +
          wait_for_file("never") + "\n",
      {"--nodes=2", "--requeue", "--open-mode=append"});
  slurm.cluster().wait_until("first run", [&] { return slurm.test().has("up"); });
  slurm.ask({"scontrol", "requeue", std::to_string(job)});
  const Record record = slurm.wait_for_end(job);
  CHECK(record.at("JobState") == "COMPLETED");
  CHECK(record.at("Restarts") == "1");
  CHECK(slurm.output(job).starts_with("restarts none\n"));
  CHECK(slurm.output(job).ends_with("restarts 1\n"));
}

}  // namespace slurm
