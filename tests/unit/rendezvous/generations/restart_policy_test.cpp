#include "rendezvous/generations/restart_policy.hpp"

#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace ddprun {
namespace {

using namespace job_story;
using PolicyAnswer = RestartPolicy::Answer;

constexpr Millis hour{3'600'000};

/// The waits before `count` restarts of generations that fail `after` their start.
std::vector<std::int64_t> waits_of(RestartOptions options, int count, Millis after) {
  RestartPolicy policy(options);
  Instant now;
  std::vector<std::int64_t> waits;
  for (int i = 0; i < count; ++i) {
    policy.generation_starts(now);
    now = now + after;
    const Millis wait = policy.restart(now);
    waits.push_back(wait.count);
    now = now + wait;
  }
  return waits;
}

TEST_CASE("restart policy: the budget is so many failures") {
  RestartPolicy policy({.count_max = 2});
  policy.generation_starts(Instant{0});
  CHECK(policy.ask(Instant{10}) == PolicyAnswer::restart);
  (void)policy.restart(Instant{10});
  CHECK(policy.which(Instant{10}) == "restart 1 of 2");
  (void)policy.restart(Instant{20});
  CHECK(policy.ask(Instant{1} + hour * 1'000) == PolicyAnswer::spent);
  CHECK(policy.verdict(Instant{20}, JobStory::failure(0, exited(4))) ==
        Outcome{4,
                "rank 0 (pid 70 on n0) exited with 4, after 2 of 2 restarts",
                JobStory::failure(0, exited(4))});
  CHECK(RestartPolicy({}).ask(Instant{}) == PolicyAnswer::spent);
  CHECK(RestartPolicy({}).verdict(Instant{}, JobStory::failure(0, exited(4)))->text ==
        "rank 0 (pid 70 on n0) exited with 4");
}

TEST_CASE("restart policy: with a window, failures that are older than it do not count") {
  RestartPolicy policy({.count_max = 2, .window = hour});
  policy.generation_starts(Instant{0});
  (void)policy.restart(Instant{0});
  (void)policy.restart(Instant{1'000});
  CHECK(policy.ask(Instant{0} + hour - Millis{1}) == PolicyAnswer::spent);
  CHECK(policy.ask(Instant{0} + hour) == PolicyAnswer::restart);
  (void)policy.restart(Instant{0} + hour);
  CHECK(policy.which(Instant{0} + hour) == "restart 2 of 2 in 3600 s");
  CHECK(policy.ask(Instant{999} + hour) == PolicyAnswer::spent);
  CHECK(policy.verdict(Instant{999} + hour, JobStory::failure(0, exited(4)))->text ==
        "rank 0 (pid 70 on n0) exited with 4, after 2 of 2 restarts in 3600 s");
  CHECK(policy.ask(Instant{1'000} + hour) == PolicyAnswer::restart);
}

TEST_CASE("restart policy: inherited failures count from the next start on") {
  Generation last;
  last.failures_count = 2;
  RestartPolicy policy({.count_max = 2, .window = hour}, last);
  Generation next;
  policy.record(Instant{5} + hour * 9, next);
  CHECK(next.failures_count == 2);  // still undated
  policy.generation_starts(Instant{5});
  CHECK(policy.ask(Instant{4} + hour) == PolicyAnswer::spent);
  CHECK(policy.ask(Instant{5} + hour) == PolicyAnswer::restart);
  policy.record(Instant{5} + hour, next);
  CHECK(next.failures_count == 0);
}

TEST_CASE("restart policy: the first restart does not wait, the next ones twice as long each") {
  const RestartOptions options{.wait_max = Millis{30'000}};
  CHECK(waits_of(options, 9, Millis{30'000}) ==
        std::vector<std::int64_t>{0, 1'000, 2'000, 4'000, 8'000, 16'000, 30'000, 30'000, 30'000});
}

TEST_CASE("restart policy: waits keep within their bounds, and none are none") {
  CHECK(waits_of({.wait_min = Millis{200}, .wait_max = Millis{3'000}}, 4, Millis{1}) ==
        std::vector<std::int64_t>{200, 1'000, 2'000, 3'000});
  CHECK(waits_of({.wait_min = Millis{5'000}, .wait_max = Millis{5'000}}, 2, Millis{1}) ==
        std::vector<std::int64_t>{5'000, 5'000});
  CHECK(waits_of({}, 3, Millis{1}) == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("restart policy: a generation that ran for longer than the longest wait ends the row") {
  const RestartOptions options{.wait_max = Millis{30'000}};
  CHECK(waits_of(options, 3, Millis{30'001}) == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("restart policy: a row goes on under another coordinator") {
  RestartPolicy policy({.count_max = 9, .wait_max = Millis{30'000}});
  policy.generation_starts(Instant{0});
  for (int i = 0; i < 3; ++i) (void)policy.restart(Instant{0});
  Generation last;
  policy.record(Instant{0}, last);
  RestartPolicy heir({.count_max = 9, .wait_max = Millis{30'000}}, last);
  heir.generation_starts(Instant{0});
  CHECK(heir.restart(Instant{0}) == Millis{4'000});
}

constexpr SnapshotPosition none_yet{};
constexpr SnapshotPosition saved(std::int64_t generation, std::int64_t step) {
  return {generation, step, 0};
}

TEST_CASE("restart policy: three restarts in a row without progress are enough") {
  RestartPolicy policy({.count_max = 9});
  for (int i = 0; i < 3; ++i) {
    policy.generation_starts(Instant{0});
    (void)policy.see(none_yet);
    CHECK(policy.ask(Instant{0}) == PolicyAnswer::restart);
    (void)policy.restart(Instant{0});
  }
  policy.generation_starts(Instant{0});
  CHECK(policy.ask(Instant{0}) == PolicyAnswer::restart);  // nobody can tell yet
  (void)policy.see(none_yet);
  CHECK(policy.ask(Instant{0}) == PolicyAnswer::stalled);
  (void)policy.see(saved(1, 1));
  CHECK(policy.ask(Instant{0}) == PolicyAnswer::restart);
}

/// After three restarts without progress since `last`.
RestartPolicy stalled_since(SnapshotPosition last) {
  RestartPolicy policy({.count_max = 9});
  (void)policy.see(last);
  for (int i = 0; i < 3; ++i) (void)policy.restart(Instant{0});
  policy.generation_starts(Instant{0});
  return policy;
}

TEST_CASE("restart policy: progress is a later generation, step or change, seen by any node") {
  const SnapshotPosition last{3, 40, 5};
  for (const SnapshotPosition later : {SnapshotPosition{4, 1, 1}, {3, 41, 1}, {3, 40, 6}}) {
    RestartPolicy policy = stalled_since(last);
    (void)policy.see(last);
    (void)policy.see(later);
    (void)policy.see(last);  // by a node whose filesystem is behind
    CHECK(policy.ask(Instant{0}) == PolicyAnswer::restart);
  }
  for (const SnapshotPosition other : {last, SnapshotPosition{3, 39, 9}, none_yet}) {
    RestartPolicy policy = stalled_since(last);
    (void)policy.see(other);
    CHECK(policy.ask(Instant{0}) == PolicyAnswer::stalled);
  }
}

TEST_CASE("restart policy: who cannot tell is no proof of a stall, and no end of one") {
  RestartPolicy policy = stalled_since(saved(1, 1));
  (void)policy.see(std::nullopt);
  CHECK(policy.ask(Instant{0}) == PolicyAnswer::restart);
  policy.generation_starts(Instant{0});
  (void)policy.see(saved(1, 1));
  CHECK(policy.ask(Instant{0}) == PolicyAnswer::stalled);
}

TEST_CASE("restart policy: where snapshots are seen, long runs without any are no progress") {
  RestartPolicy policy = stalled_since(none_yet);
  (void)policy.see(none_yet);
  (void)policy.restart(Instant{0} + hour);
  policy.generation_starts(Instant{0} + hour);
  (void)policy.see(none_yet);
  CHECK(policy.ask(Instant{0} + hour * 2) == PolicyAnswer::stalled);
}

TEST_CASE("restart policy: a budget that is spent is said before a stall") {
  RestartPolicy policy({.count_max = 3});
  for (int i = 0; i < 3; ++i) (void)policy.restart(Instant{0});
  (void)policy.see(none_yet);
  CHECK(policy.ask(Instant{0}) == PolicyAnswer::spent);
}

TEST_CASE("restart policy: a stall, and what was seen, go on under another coordinator") {
  const RestartPolicy policy = stalled_since(saved(2, 7));
  Generation last;
  policy.record(Instant{0}, last);
  CHECK(last.snapshot == saved(2, 7));
  RestartPolicy heir({.count_max = 9}, last);
  (void)heir.see(saved(2, 7));
  CHECK(heir.ask(Instant{0}) == PolicyAnswer::stalled);
  (void)heir.see(saved(2, 8));
  CHECK(heir.ask(Instant{0}) == PolicyAnswer::restart);
}

// How the coordinator goes by it.

TEST_CASE("coordinator: restarts without progress end the job with 76, and say so") {
  JobStory job({.restarts = {.count_max = 9}});
  (void)job.joins(0);
  for (std::int64_t number = 1; number <= 4; ++number) {
    (void)job.fails(number, 0, exited(3));
    CHECK(job.why.ends_with(" follows if a newer snapshot was saved") == (number == 4));
    const Actions next = job.meets(Join{offer_of(0), GenerationNumber{number}, saved(1, 5)});
    if (number < 4) CHECK(members_of(next) == std::vector{0});
    if (number == 4) {
      CHECK(next == Actions{finish({76,
                                    "gave up: 3 restarts without progress; do not requeue: rank 0 "
                                    "(pid 70 on n0) exited with 3",
                                    JobStory::failure(0, exited(3))})});
    }
  }
}

TEST_CASE("coordinator: a job that saves something each time goes on") {
  JobStory job({.restarts = {.count_max = 9}});
  (void)job.joins(0);
  for (std::int64_t number = 1; number <= 9; ++number) {
    (void)job.fails(number, 0, exited(3));
    const Join join{offer_of(0), GenerationNumber{number}, saved(number, 5)};
    CHECK(members_of(job.meets(join)) == std::vector{0});
  }
}

JobStory waiting_job() {
  JobStory job({.restarts = {.count_max = 9, .wait_max = Millis{30'000}}});
  (void)job.joins(0);
  (void)job.fails(1, 0, exited(1));
  CHECK(members_of(job.joins(0, 1)) == std::vector{0});
  (void)job.fails(2, 0, exited(1));
  return job;
}
const std::string second_restart = "restart 2 of 9: rank 0 (pid 70 on n0) exited with 1";

TEST_CASE("coordinator: a second failure in a row is waited for, and that is said") {
  JobStory job = waiting_job();
  CHECK(job.joins(0, 2) == Actions{Note{"waiting 1 s before " + second_restart}});
  CHECK(job.coordinator.reason() == "waiting before " + second_restart);
  CHECK(job.coordinator.next_deadline() == Instant{1'000});
  CHECK(job.joins(0, 2).empty());
  CHECK(job.waits(Millis{999}).empty());
  const Actions started = job.waits(Millis{1});
  CHECK(members_of(started) == std::vector{0});
  CHECK(cause_of(started) == second_restart);
  CHECK_FALSE(job.coordinator.next_deadline());
}

TEST_CASE("coordinator: asked to stop while it waits before a restart, it ends at once") {
  JobStory job = waiting_job();
  (void)job.joins(0, 2);
  CHECK(job.is_asked_to_stop({15}) == Actions{finish({143, "stopped by SIGTERM (15)", {}})});
  CHECK_FALSE(job.coordinator.next_deadline());
}

TEST_CASE("coordinator: the wait for other nodes begins after that before a restart") {
  JobStory job = waiting_job();
  (void)job.joins(0, 2);
  CHECK(job.loses(0).empty());
  CHECK(job.waits(Millis{1'000}).empty());
  CHECK(job.coordinator.next_deadline() == Instant{31'000});
  CHECK(members_of(job.joins(0, 2)) == std::vector{0});
}

TEST_CASE("coordinator: nobody waits where a node was lost") {
  JobStory job(
      {.gathering = {.nodes_min = 1, .nodes_max = 2},
       .restarts = {.count_max = 9, .wait_min = Millis{9'000}, .wait_max = Millis{9'000}}});
  (void)job.joins(0);
  (void)job.joins(1);
  (void)job.loses(1);
  CHECK(members_of(job.joins(0, 1)) == std::vector{0});
}

}  // namespace
}  // namespace ddprun
