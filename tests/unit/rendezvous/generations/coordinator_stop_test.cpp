// Requests to end the job: by signals, one or several.
#include "rendezvous/generations/coordinator.hpp"
#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace ddprun {
namespace {

using namespace job_story;

TEST_CASE("coordinator: a request to stop gives the workers its signal and the grace") {
  JobStory job({.restarts = {.count_max = 9}, .grace = Millis{7'000}});
  (void)job.joins(0);
  CHECK(job.is_asked_to_stop({SIGINT}) == Actions{stop(1, SIGINT, Millis{7'000})});
  CHECK(job.fails(1, 0, exited(1)).empty());  // no failure: it was asked to
  CHECK(job.joins(0, 1) == Actions{finish({130, "stopped by SIGINT (2)", {}})});
}

TEST_CASE("coordinator: the same signal from every node of a job is one request to stop") {
  JobStory job;
  job.joins(0);
  CHECK(job.is_asked_to_stop({SIGTERM}) == Actions{stop(1, SIGTERM, Millis{10'000})});
  job.now = job.now + Millis{999};
  CHECK(job.is_asked_to_stop({SIGTERM}).empty());
  job.now = job.now + Millis{1};
  CHECK(job.is_asked_to_stop({SIGTERM}) == Actions{stop(1, SIGTERM, Millis{0})});
}

TEST_CASE("coordinator: a signal that nodes get one after the other is one wish, however late") {
  const auto by = [](int signal, int node) {
    return StopRequested{.signal = signal, .node = NodeId{node}};
  };
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}});
  for (const int node : {0, 1}) (void)job.joins(node);
  CHECK(job.is_asked_to_stop(by(SIGTERM, 0)).size() == 2);
  job.now = job.now + Millis{1'500};
  CHECK(job.is_asked_to_stop(by(SIGTERM, 1)).empty());
  job.now = job.now + Millis{1'500};
  CHECK(job.is_asked_to_stop(by(SIGTERM, 1)).size() == 2);  // its second
  JobStory interrupted({.gathering = {.nodes_min = 2, .nodes_max = 2}});
  for (const int node : {0, 1}) (void)interrupted.joins(node);
  (void)interrupted.is_asked_to_stop(by(SIGINT, 0));
  interrupted.now = interrupted.now + Millis{199};
  CHECK(interrupted.is_asked_to_stop(by(SIGINT, 1)).empty());  // as scancel does
  CHECK(interrupted.is_asked_to_stop(by(SIGINT, 1)).size() == 2);
  JobStory other({.gathering = {.nodes_min = 2, .nodes_max = 2}});
  for (const int node : {0, 1}) (void)other.joins(node);
  (void)other.is_asked_to_stop(by(SIGTERM, 0));
  CHECK(other.is_asked_to_stop(by(SIGHUP, 1)).size() == 2);
}

TEST_CASE("coordinator: the second request to stop skips the grace") {
  JobStory job;
  (void)job.joins(0);
  (void)job.is_asked_to_stop({SIGINT});
  CHECK(job.is_asked_to_stop({SIGTERM}) == Actions{stop(1, SIGTERM, Millis{0})});
  CHECK(job.joins(0, 1) == Actions{finish({130, "stopped by SIGINT (2)", {}})});
}

TEST_CASE("coordinator: a request to stop during a restart prevents the next generation") {
  JobStory job({.restarts = {.count_max = 9}});
  (void)job.joins(0);
  (void)job.fails(1, 0, exited(1));
  CHECK(job.is_asked_to_stop({SIGTERM}).empty());  // it is stopping already
  CHECK(job.is_asked_to_stop({SIGHUP}) == Actions{stop(1, SIGHUP, Millis{0})});
  CHECK(job.joins(0, 1) == Actions{finish({143, "stopped by SIGTERM (15)", {}})});
}

TEST_CASE(
    "coordinator: a request to stop does not turn a success or a failure into something else") {
  JobStory failed;
  (void)failed.joins(0);
  (void)failed.fails(1, 0, exited(4));
  CHECK(failed.is_asked_to_stop({SIGINT}) == Actions{stop(1, SIGINT, Millis{0})});
  CHECK(std::get<FinishJob>(failed.joins(0, 1).at(0)).outcome.exit_status == 4);

  JobStory saves;
  (void)saves.joins(0);
  (void)saves.fails(1, 0, exited(4));
  CHECK(saves.is_asked_to_stop({SIGTERM}).empty());  // the others keep the grace that they have
  saves.now = saves.now + Millis{1'500};
  CHECK(saves.is_asked_to_stop({SIGTERM}) == Actions{stop(1, SIGTERM, Millis{0})});

  JobStory succeeded;
  (void)succeeded.joins(0);
  (void)succeeded.succeeds(1, 0);
  (void)succeeded.succeeds(1, 1);
  (void)succeeded.is_asked_to_stop({SIGINT});
  CHECK(std::get<FinishJob>(succeeded.joins(0, 1).at(0)).outcome.exit_status == 0);
}

TEST_CASE("coordinator: who has stopped is not told to stop again") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}});
  (void)job.joins(0);
  (void)job.joins(1);
  (void)job.is_asked_to_stop({SIGINT});
  (void)job.joins(0, 1);
  CHECK(job.is_asked_to_stop({SIGINT}) == Actions{stop(1, SIGINT, Millis{0}, 1)});
}

}  // namespace
}  // namespace ddprun
