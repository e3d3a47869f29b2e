// The coordinator of a job that is asked to end so that it can go on later.
#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace ddprun {
namespace {

using namespace job_story;

/// SIGUSR1 and SIGHUP mean that. Workers have a minute to save then, and 10 s for any other end.
JobStory saving_job(bool runs = true) {
  JobStory job(
      {.grace = Millis{10'000}, .saving_signals = {SIGUSR1, SIGHUP}, .save_grace = Millis{60'000}});
  if (runs) (void)job.joins(0);
  return job;
}

Outcome stopped(const std::string& how) {
  return {75, "stopped " + how + "; what was saved is kept: run again", {}};
}

const StopRequested time_is_up{.time_is_up = true};

Actions saving() {
  return {stop(1, SIGTERM, Millis{60'000})};
}

TEST_CASE(
    "coordinator: workers that are to save get SIGTERM and the time, and the job ends with 75") {
  for (const auto& [stop, how] : {std::pair{StopRequested{SIGUSR1}, "by SIGUSR1 (10)"},
                                  std::pair{StopRequested{SIGHUP}, "by SIGHUP (1)"},
                                  std::pair{time_is_up, "before its time limit"}}) {
    JobStory job = saving_job();
    CHECK(job.is_asked_to_stop(stop) == saving());
    CHECK(job.joins(0, 1) == Actions{finish(stopped(how))});
  }
}

TEST_CASE("coordinator: a job without workers that is asked to save ends like that at once") {
  JobStory job = saving_job(false);
  CHECK(job.is_asked_to_stop({SIGUSR1}).empty());
  CHECK(job.joins(0) == Actions{finish(stopped("by SIGUSR1 (10)"))});
}

TEST_CASE("coordinator: to be asked to save once more, however late, takes no time from workers") {
  JobStory job = saving_job();
  (void)job.is_asked_to_stop(time_is_up);
  for (const StopRequested& stop : {StopRequested{SIGUSR1}, StopRequested{SIGHUP}, time_is_up}) {
    job.now = job.now + Millis{5'000};
    CHECK(job.is_asked_to_stop(stop).empty());
  }
  CHECK(job.joins(0, 1) == Actions{finish(stopped("before its time limit"))});
}

TEST_CASE("coordinator: SIGTERM to workers that save leaves them the usual grace, and then none") {
  JobStory job = saving_job();
  (void)job.is_asked_to_stop({SIGUSR1});
  CHECK(job.is_asked_to_stop({SIGTERM}) == Actions{stop(1, SIGTERM, Millis{10'000})});
  CHECK(job.is_asked_to_stop({SIGTERM}).empty());  // the same wish
  job.now = job.now + Millis{1'500};
  CHECK(job.is_asked_to_stop({SIGTERM}) == Actions{stop(1, SIGTERM, Millis{0})});
  CHECK(job.joins(0, 1) == Actions{finish(stopped("by SIGUSR1 (10)"))});
}

TEST_CASE("coordinator: ctrl-C does not wait until workers have saved") {
  JobStory job = saving_job();
  (void)job.is_asked_to_stop({SIGUSR1});
  CHECK(job.is_asked_to_stop({SIGINT}) == Actions{stop(1, SIGINT, Millis{0})});
}

TEST_CASE("coordinator: a job that ends for good anyway is not hurried by a wish to save") {
  JobStory job = saving_job();
  const WorkerEnd end{WorkerEnd::Kind::exited, 3};
  (void)job.fails(1, 1, end);
  CHECK(job.is_asked_to_stop({SIGUSR1}).empty());
  const Actions told = job.joins(0, 1);
  REQUIRE(told.size() == 1);
  CHECK(std::get<FinishJob>(told.front()).outcome.exit_status == 3);
}

TEST_CASE("coordinator: a restart under way becomes an end when the job is asked to save") {
  JobStory job({.restarts = {.count_max = 3}, .saving_signals = {SIGUSR1}});
  (void)job.joins(0);
  (void)job.fails(1, 1, {WorkerEnd::Kind::exited, 3});
  CHECK(job.is_asked_to_stop({SIGUSR1}).empty());
  CHECK(job.joins(0, 1) == Actions{finish(stopped("by SIGUSR1 (10)"))});
}

TEST_CASE("coordinator: SIGUSR1 is an end like any other where nothing was said of it") {
  JobStory job;
  (void)job.joins(0);
  CHECK(job.is_asked_to_stop({SIGUSR1}) == Actions{stop(1, SIGUSR1, Millis{10'000})});
}

}  // namespace
}  // namespace ddprun
