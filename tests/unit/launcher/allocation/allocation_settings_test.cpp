#include "launcher/allocation/allocation_settings.hpp"

#include "launcher/options/option_table.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

Settings given(const Settings& some) {
  Settings all;
  for (const OptionSpec& option : option_table()) {
    all[std::string(option.name)] = {std::string(option.fallback), "default"};
  }
  for (const auto& [name, setting] : some) all.at(name) = setting;
  return all;
}

Settings nnodes(const char* value) {
  return given({{"nnodes", {value, "DDPRUN_NNODES"}}});
}

const Environment script_environment{
    {"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "n[0-3]"}, {"SLURMD_NODENAME", "n0"}};

const Environment task_environment{{"SLURM_JOB_ID", "12"},
                                   {"SLURM_STEP_ID", "3"},
                                   {"SLURM_STEP_NODELIST", "n[1-2]"},
                                   {"SLURM_STEP_NUM_TASKS", "2"},
                                   {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                                   {"SLURM_PROCID", "1"},
                                   {"SLURM_LOCALID", "0"},
                                   {"SLURM_NODEID", "1"},
                                   {"SLURMD_NODENAME", "n2"}};

TEST_CASE("allocation settings: a script has all of its nodes") {
  Settings all = given({});
  CHECK(apply_allocation(script_environment, all).value()->nodes.size() == 4);
  CHECK(all.at("nnodes") == Setting{"4", "SLURM_JOB_NODELIST"});
  CHECK(all.at("rdzv-endpoint") == Setting{"n0", "the batch script"});
}

TEST_CASE("allocation settings: a task knows where the others are and which one it is") {
  Settings all = given({});
  const Allocation found = apply_allocation(task_environment, all).value().value();
  CHECK(all.at("nnodes") == Setting{"2", "SLURM_STEP_NUM_TASKS"});
  CHECK(all.at("rdzv-endpoint") ==
        Setting{"n1:" + std::to_string(port_of_step(found)), "SLURM_STEP_NODELIST"});
  CHECK(all.at("node-rank") == Setting{"1", "SLURM_PROCID"});
  CHECK(all.at("rdzv-id") == Setting{"12.3", "SLURM_STEP_ID"});
}

TEST_CASE("allocation settings: tasks meet at the name by which the first node is reached") {
  Settings all = given({{"hostname-suffix", {"i", "the job file"}}});
  const Allocation found = apply_allocation(task_environment, all).value().value();
  CHECK(all.at("rdzv-endpoint").value == "n1i:" + std::to_string(port_of_step(found)));
}

TEST_CASE("allocation settings: a name of the job that was given stays") {
  Settings all = given({{"rdzv-id", {"mine", "the command line"}}});
  CHECK(apply_allocation(task_environment, all).has_value());
  CHECK(all.at("rdzv-id").value == "mine");
}

TEST_CASE(
    "allocation settings: who says where the nodes meet, or that there are none, is believed") {
  for (const Settings& own : {Settings{{"standalone", {"true", "the command line"}}},
                              Settings{{"nnodes", {"1", "PET_NNODES"}}},
                              Settings{{"nnodes", {"1:1", "PET_NNODES"}}},
                              Settings{{"rdzv-endpoint", {"n0:1", "job.yaml:1:1"}}},
                              Settings{{"master-addr", {"n0", "the command line"}}}}) {
    Settings all = given(own);
    const Settings before = all;
    CHECK_FALSE(apply_allocation(script_environment, all).value().has_value());
    CHECK_FALSE(apply_allocation({{"SLURM_JOB_ID", "?"}}, all).value().has_value());
    CHECK(all == before);
  }
}

TEST_CASE("allocation settings: nodes that were asked for are at most those that there are") {
  Settings fewer = nnodes("2:3");
  CHECK(apply_allocation(script_environment, fewer).has_value());
  CHECK(fewer.at("nnodes") == Setting{"2:3", "DDPRUN_NNODES"});
  Settings more = nnodes("2:8");
  CHECK(apply_allocation(script_environment, more).has_value());
  CHECK(more.at("nnodes") == Setting{"2:4", "DDPRUN_NNODES"});
  Settings nonsense = nnodes("x:y");
  CHECK(apply_allocation(script_environment, nonsense).has_value());
  CHECK(nonsense.at("nnodes").value == "x:y");
}

TEST_CASE("allocation settings: an allocation that is too small is refused") {
  Settings all = nnodes("5:8");
  CHECK(apply_allocation(script_environment, all).error().message() ==
        "--nnodes: '5:8' from DDPRUN_NNODES needs 5 nodes, but there are 4 in this allocation: "
        "script of Slurm job 12 on 4 nodes; ask Slurm for more, or write fewer");
}

TEST_CASE("allocation settings: a script on the only node is a job of one node") {
  Environment one = script_environment;
  one["SLURM_JOB_NODELIST"] = "n0";
  Settings all = given({});
  CHECK(apply_allocation(one, all).value()->is_alone());
  CHECK(all.at("nnodes").value == "1");
  CHECK(all.at("rdzv-endpoint").value.empty());
}

TEST_CASE("allocation settings: a shell that is not on the only node is refused") {
  Environment one = script_environment;
  one["SLURM_JOB_NODELIST"] = "n7";
  Settings all = given({});
  CHECK(apply_allocation(one, all).error().message() ==
        "this host is not the node n7 of Slurm job 12; write srun in front of ddprun, or "
        "--standalone to run on this host");
}

}  // namespace
}  // namespace ddprun
