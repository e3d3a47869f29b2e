#include "launcher/slurm/slurm_control.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ddprun {
namespace {

Allocation job_of_slurm(std::int64_t restarts_count = 0) {
  Allocation allocation;
  allocation.job_id = "12";
  allocation.restarts_count = restarts_count;
  return allocation;
}

TEST_CASE("slurm control: the end of a job, as squeue writes it, and what is none") {
  const auto end = parse_end_time("1795374847");
  REQUIRE(end.has_value());
  CHECK(*end == 1'795'374'847);
  for (const char* text : {"NONE", "N/A"}) {
    const auto none = parse_end_time(text);
    REQUIRE(none.has_value());
    CHECK_FALSE(none->has_value());
  }
  for (const char* text : {"",
                           "INVALID",
                           "-1",
                           "2026-11-22T19:23:36",
                           "17 18",
                           "9999999999999999999999",
                           "slurm_load_jobs error: Invalid job id specified"}) {
    INFO(text);
    CHECK_FALSE(parse_end_time(text).has_value());
  }
}

std::string name_in(const Environment& environment) {
  const SlurmControl control = slurm_control(job_of_slurm(), environment);
  CHECK(control.requeue.arguments == std::vector<std::string>{"scontrol", "requeue", control.job});
  CHECK(control.ask_end.arguments.at(2) == "--jobs=" + control.job);
  CHECK(control.ask_preempted.arguments.at(2) == "--jobs=" + control.job);
  CHECK(control.ask_state.arguments.at(3) == control.job);
  return control.job;
}

TEST_CASE("slurm control: a job is named so that nothing else is meant, in an array or not") {
  CHECK(name_in({}) == "12");
  CHECK(name_in({{"SLURM_ARRAY_JOB_ID", "12"}, {"SLURM_ARRAY_TASK_ID", "3"}}) == "12_3");
  CHECK(name_in({{"SLURM_ARRAY_JOB_ID", "11"}, {"SLURM_ARRAY_TASK_ID", "3"}}) == "12");
  CHECK(name_in({{"SLURM_ARRAY_JOB_ID", "12"}}) == "12");
  CHECK(name_in({{"SLURM_ARRAY_JOB_ID", "x"}, {"SLURM_ARRAY_TASK_ID", "3"}}) == "12");
}

TEST_CASE("slurm control: the end that Slurm has told, and nothing that makes no sense") {
  CHECK(slurm_control(job_of_slurm(), {{"SLURM_JOB_END_TIME", "1700000000"}}).end_time ==
        1'700'000'000);
  CHECK_FALSE(slurm_control(job_of_slurm(), {{"SLURM_JOB_END_TIME", "soon"}}).end_time);
  CHECK_FALSE(slurm_control(job_of_slurm(), {}).end_time);
}

TEST_CASE("slurm control: nothing that changes answers, and no secret, reaches the commands") {
  const SlurmControl control = slurm_control(job_of_slurm(2),
                                             {{"SQUEUE_FORMAT", "%i"},
                                              {"SCONTROL_ALL", "1"},
                                              {"SLURM_TIME_FORMAT", "relative"},
                                              {"SLURM_CLUSTERS", "other"},
                                              {"DDPRUN_TOKEN", "secret"},
                                              {"PATH", "/nowhere"}});
  CHECK(control.environment == Environment{{"PATH", "/nowhere"}, {"SLURM_TIME_FORMAT", "%s"}});
  CHECK(control.restarts_count == 2);
  CHECK(control.ask_end.executable.empty());
  CHECK(control.requeue.executable.empty());
}

TEST_CASE("slurm control: what has become of the job, as scontrol writes it") {
  CHECK(parse_state("JobId=12 JobName=x UserId=me(7) JobState=RUNNING Reason=None Requeue=1 "
                    "Restarts=0 BatchFlag=1") == SlurmState{false, 0});
  CHECK(parse_state("JobState=COMPLETING Restarts=2") == SlurmState{true, 2});
  CHECK(parse_state("JobState=CANCELLED Restarts=0") == SlurmState{true, 0});
  for (const char* text : {"",
                           "JobState=RUNNING",
                           "Restarts=0",
                           "JobState=RUNNING Restarts=",
                           "JobState=RUNNING Restarts=-1",
                           "slurm_load_jobs error: Invalid job id specified"}) {
    INFO(text);
    CHECK_FALSE(parse_state(text).has_value());
  }
}

TEST_CASE("slurm control: whether Slurm has preempted the job, as squeue writes it") {
  CHECK(says_preempted("2026-11-22T19:23:36"));
  CHECK(says_preempted("1795374847"));
  for (const char* text : {"", "N/A", "0", "N/A N/A", "1795374847 1795374847"}) {
    CHECK_FALSE(says_preempted(text));
  }
}

}  // namespace
}  // namespace ddprun
