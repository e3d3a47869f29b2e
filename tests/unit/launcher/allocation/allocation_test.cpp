#include "launcher/allocation/allocation.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

/// What Slurm 22.05 tells a batch script on the first of three nodes.
Environment batch_script() {
  return {{"SLURM_JOB_ID", "12"},
          {"SLURM_JOB_NODELIST", "n[0-2]"},
          {"SLURM_JOB_NUM_NODES", "3"},
          {"SLURM_PROCID", "0"},
          {"SLURM_LOCALID", "0"},
          {"SLURM_NODEID", "0"},
          {"SLURM_SUBMIT_DIR", "/home/me"},
          {"SLURMD_NODENAME", "n0"}};
}

/// And the fourth of five tasks, the first on the second of the two last nodes.
Environment one_task() {
  Environment environment = batch_script();
  environment["SLURM_STEP_ID"] = "4";
  environment["SLURM_STEP_NODELIST"] = "n[1-2]";
  environment["SLURM_STEP_NUM_TASKS"] = "5";
  environment["SLURM_STEP_TASKS_PER_NODE"] = "3,2";
  environment["SLURM_PROCID"] = "3";
  environment["SLURM_NODEID"] = "1";
  environment["SLURMD_NODENAME"] = "n2";
  return environment;
}

std::string error_with(Environment environment, const char* name, const char* value) {
  environment[name] = value;
  const auto read = read_allocation(environment);
  return read ? "none" : read.error().message();
}

std::string error_without(Environment environment, const char* name) {
  environment.erase(name);
  const auto read = read_allocation(environment);
  return read ? "none" : read.error().message();
}

TEST_CASE("allocation: outside of Slurm there is none") {
  CHECK_FALSE(read_allocation({{"PATH", "/bin"}}).value().has_value());
}

TEST_CASE("allocation: a batch script knows the nodes of its job") {
  const Allocation found = read_allocation(batch_script()).value().value();
  CHECK(found.situation == Situation::script);
  CHECK(found.job_id == "12");
  CHECK(found.nodes == std::vector<std::string>{"n0", "n1", "n2"});
  CHECK(found.own_node == "n0");
  CHECK(found.submit_folder == "/home/me");
  CHECK(found.restarts_count == 0);
  CHECK_FALSE(found.is_alone());
  CHECK(found.text() == "script of Slurm job 12 on 3 nodes");
}

TEST_CASE("allocation: how often Slurm has run the job before is told") {
  Environment environment = batch_script();
  environment["SLURM_RESTART_COUNT"] = "2";
  CHECK(read_allocation(environment).value()->restarts_count == 2);
}

TEST_CASE("allocation: a script on its only node is alone, and a shell elsewhere is not") {
  Environment environment = batch_script();
  environment["SLURM_JOB_NODELIST"] = "n0";
  CHECK(read_allocation(environment).value()->is_alone());
  environment["SLURMD_NODENAME"] = "login";
  const Allocation shell = read_allocation(environment).value().value();
  CHECK_FALSE(shell.is_alone());
  CHECK(shell.own_node.empty());
  CHECK(shell.text() == "shell with Slurm job 12 on 1 node");
}

TEST_CASE("allocation: the steps that Slurm makes for scripts and shells are no steps") {
  for (const char* step : {"4294967290", "4294967291"}) {
    Environment environment = batch_script();
    environment["SLURM_STEP_ID"] = step;
    CHECK(read_allocation(environment).value()->situation == Situation::script);
  }
}

TEST_CASE("allocation: a task knows its place in the step, whatever the job has") {
  const Allocation found = read_allocation(one_task()).value().value();
  CHECK(found.situation == Situation::task);
  CHECK(found.step_id == "4");
  CHECK(found.nodes == std::vector<std::string>{"n1", "n2"});
  CHECK(found.task == 3);
  CHECK(found.task_count == 5);
  CHECK(found.local_task == 0);
  CHECK(found.tasks_here == 2);
  CHECK(found.tasks_per_node_max == 3);
  CHECK_FALSE(found.is_alone());
  CHECK(found.text() == "task 3 of 5 of Slurm step 12.4 on 2 nodes");
}

TEST_CASE("allocation: a task without others is alone, on a terminal too") {
  Environment environment = one_task();
  environment["SLURM_STEP_NODELIST"] = "n2";
  environment["SLURM_STEP_NUM_TASKS"] = "1";
  environment["SLURM_STEP_TASKS_PER_NODE"] = "1";
  environment["SLURM_PROCID"] = environment["SLURM_NODEID"] = "0";
  environment["SLURM_PTY_PORT"] = "4000";
  CHECK(read_allocation(environment).value()->is_alone());
}

TEST_CASE("allocation: a script that was submitted from a step is no task of that step") {
  struct Left {
    const char* name;
    const char* value;
  };
  for (const Left& other : {Left{"SLURM_TASKS_PER_NODE", "1(x3)"},  // of the script's own job
                            Left{"SLURM_STEP_NODELIST", "m[1-2]"},  // that job has others
                            Left{"SLURMD_NODENAME", "n0"}}) {       // the step had others
    CAPTURE(other.name);
    Environment environment = one_task();
    CHECK(is_in_step(environment));
    environment[other.name] = other.value;
    CHECK_FALSE(is_in_step(environment));
    CHECK(read_allocation(environment).value()->situation == Situation::script);
  }
}

TEST_CASE("allocation: a shell on a terminal beside other tasks is refused") {
  CHECK(error_with(one_task(), "SLURM_PTY_PORT", "4000") ==
        "this shell is one of 5 tasks of Slurm step 12.4, which srun --pty has started: the "
        "other tasks run a shell, not ddprun; start ddprun from the shell of salloc or by srun "
        "without --pty, or write --standalone to run on this node alone");
}

TEST_CASE("allocation: a heterogeneous job is refused") {
  CHECK(error_with(batch_script(), "SLURM_HET_SIZE", "2")
            .starts_with("Slurm job 12 is heterogeneous (SLURM_HET_SIZE is '2'); ddprun"));
}

TEST_CASE("allocation: what makes no sense is named with its value") {
  CHECK(error_with(batch_script(), "SLURM_JOB_ID", "") ==
        "SLURM_JOB_ID is '', which is no job's number: Slurm sets it, so something else has "
        "changed it; write --standalone to run on this node alone");
  CHECK(error_with(batch_script(), "SLURM_RESTART_COUNT", "../x")
            .starts_with("SLURM_RESTART_COUNT is '../x', which is no number of restarts: "));
  CHECK(error_without(batch_script(), "SLURM_JOB_NODELIST")
            .starts_with("SLURM_JOB_NODELIST is not set, in Slurm job 12: "));
  CHECK(error_with(batch_script(), "SLURM_JOB_NODELIST", "").find("SLURM_JOB_NODELIST") !=
        std::string::npos);
  CHECK(error_with(batch_script(), "SLURM_JOB_NODELIST", "n[0-")
            .starts_with("'n[0-' from SLURM_JOB_NODELIST "));
  for (const char* name : {"SLURM_STEP_ID",
                           "SLURM_STEP_NUM_TASKS",
                           "SLURM_PROCID",
                           "SLURM_LOCALID",
                           "SLURM_NODEID",
                           "SLURM_STEP_TASKS_PER_NODE"}) {
    for (const char* value : {"", "x", "-1", "99999999999999999999"}) {
      CAPTURE(name);
      CAPTURE(value);
      const std::string message = error_with(one_task(), name, value);
      CHECK(message.find(name) != std::string::npos);
      CHECK(message.find(std::string("'") + value + "'") != std::string::npos);
    }
  }
  CHECK(error_with(one_task(), "SLURM_STEP_NUM_TASKS", "0")
            .starts_with("SLURM_STEP_NUM_TASKS is '0'"));
  CHECK(error_with(one_task(), "SLURM_PROCID", "5")
            .starts_with("SLURM_PROCID is '5', which is no number from 0 to 4: "));
  CHECK(error_with(one_task(), "SLURM_NODEID", "2")
            .starts_with(
                "SLURM_STEP_TASKS_PER_NODE is '3,2', which is not for the step's 2 nodes: "));
  CHECK(error_without(one_task(), "SLURM_PROCID").starts_with("SLURM_PROCID is not set"));
}

TEST_CASE("allocation: what is empty is not taken for what is not set") {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_STEP_NUM_TASKS"}) {
    CAPTURE(name);
    CHECK(error_with(one_task(), name, "").find(name) != std::string::npos);
  }
  CHECK(error_with(batch_script(), "SLURM_RESTART_COUNT", "")
            .starts_with("SLURM_RESTART_COUNT is '', which is no number of restarts: "));
  CHECK(error_with(one_task(), "SLURM_STEP_NODELIST", ",") != "none");
  Environment named_as_before = batch_script();
  named_as_before.erase("SLURM_JOB_NODELIST");
  named_as_before["SLURM_NODELIST"] = "n[5-6]";
  CHECK(read_allocation(named_as_before).value()->nodes == std::vector<std::string>{"n5", "n6"});
}

TEST_CASE("allocation: of a step the variables of the step count, and else those of its tasks") {
  Environment environment = one_task();
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"}) {
    environment.erase(name);
  }
  CHECK(error_without(environment, "none").starts_with("SLURM_NTASKS is not set"));
  environment["SLURM_NTASKS"] = "5";
  CHECK(error_without(environment, "none").starts_with("SLURM_TASKS_PER_NODE is not set"));
  environment["SLURM_TASKS_PER_NODE"] = "3,2";
  CHECK(read_allocation(environment).value() == read_allocation(one_task()).value());
}

TEST_CASE("allocation: a list of nodes is bounded before anything is made of it") {
  CHECK(error_with(batch_script(), "SLURM_JOB_NODELIST", "n[0-999999999]") != "none");
  CHECK(error_with(one_task(), "SLURM_STEP_TASKS_PER_NODE", "1(x999999999)") != "none");
}

TEST_CASE("allocation: a task that its own node has no place for is an error") {
  CHECK(error_with(one_task(), "SLURM_LOCALID", "2")
            .starts_with("SLURM_LOCALID is '2', which is no number from 0 to 1: "));
  CHECK(error_with(one_task(), "SLURM_STEP_TASKS_PER_NODE", "5,0")
            .starts_with("SLURM_STEP_TASKS_PER_NODE is '5,0', which is not for the step's 2 "));
}

TEST_CASE("allocation: the tasks of a step agree on a port, and others have other ones") {
  const Allocation task = read_allocation(one_task()).value().value();
  Environment first = one_task();
  first["SLURM_PROCID"] = first["SLURM_NODEID"] = "0";
  CHECK(port_of_step(task) == port_of_step(read_allocation(first).value().value()));
  Allocation next = task;
  next.step_id = "5";
  CHECK(port_of_step(next) == port_of_step(task) + 1);
  for (int job = 13; job < 1000; ++job) {
    next.job_id = std::to_string(job);
    CHECK(port_of_step(next) != port_of_step(task));
    CHECK(port_of_step(next) >= 10'000);
    CHECK(port_of_step(next) < 29'000);
  }
}

}  // namespace
}  // namespace ddprun
