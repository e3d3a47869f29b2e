// Processes that are stopped for a while and go on. What happens when others have given them up
// meanwhile is in loss_test.cpp and head_test.cpp.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

namespace hosts {
namespace {

using std::chrono::milliseconds;

/// A patience that a stop of this length is well within, on a busy machine too.
const Options patient{{"nnodes", "2:3"}, {"max-restarts", "0"}, {"dead-after", "4s"}};
constexpr milliseconds half_lease{1500};
constexpr milliseconds heartbeat{500};

/// Stops it for half a lease, and then gives everybody time for a new one; false if another
/// generation began.
bool stands_still(Training& job, int pid) {
  const auto only_first = [&] { return job.newest() == 1; };
  stop_process(pid, job.cluster().test().deadline());
  const bool stayed = job.cluster().stays(half_lease, only_first);
  ::kill(pid, SIGCONT);
  return stayed && job.cluster().stays(4 * heartbeat, only_first);
}

/// Whether nobody is given up for it, for as long as that could take.
bool goes_on(Training& job) {
  return job.cluster().stays(milliseconds(4500), [&] { return job.newest() == 1; });
}

}  // namespace

TEST_CASE("hosts: agents that stand still for half a lease restart nothing") {
  if (!can_hold_hosts()) return;
  Training job(3, patient);
  job.start_all();
  job.generation(1, 6);
  for (const int host : {2, 0}) CHECK(stands_still(job, job.agent_process(host)));
  CHECK_MESSAGE(goes_on(job), job.cluster().seen());
  for (const int host : {0, 1, 2}) CHECK(job.workers(host).size() == 2);
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: a coordinator without workers that stood still finds its job again") {
  if (!can_hold_hosts()) return;
  Training job(3, patient);
  job.start_coordinator(0);
  const int coordinator = job.agent_process(0);
  for (const int host : {1, 2}) job.start(host);
  job.generation(1, 4);
  CHECK(stands_still(job, coordinator));
  CHECK_MESSAGE(goes_on(job), job.cluster().seen());

  stop_process(coordinator, job.cluster().test().deadline());
  job.generation(2, 4);
  ::kill(coordinator, SIGCONT);
  job.wait_until("a place for who led before", [&] {
    return has_said(job.agent_of(1), "n0 is a witness") ||
           has_said(job.agent_of(2), "n0 is a witness");
  });
  job.finish();
  job.expect_end(0);
}

}  // namespace hosts
