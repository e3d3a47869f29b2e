// A job that trains, with examples/toy, and ends by a signal to each of its hosts, or goes on
// after one to a single host.
#include "tests/hosts/replay.hpp"
#include "tests/hosts/snapshots.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <string>
#include <vector>

namespace hosts {
namespace {

using std::chrono::milliseconds;

constexpr int hosts_count = 4;
constexpr milliseconds grace{10'000};  // the default of --grace

/// What workers of all hosts said of the step at which they stopped.
std::multiset<std::string> steps_of_stops(Training& job) {
  const std::string begin = "] stopped by ";
  std::multiset<std::string> all;
  for (int host = 0; host < hosts_count; ++host) {
    const std::string said = job.agent_of(host).err();
    for (std::size_t at = said.find(begin); at != said.npos; at = said.find(begin, at + 1)) {
      const std::size_t step = said.find("step ", at);
      all.insert(said.substr(step, said.find_first_of(",\n", step) - step));
    }
  }
  return all;
}

/// Four hosts with a rank each, of which one is enough; they have trained an epoch, and no snapshot
/// is due.
struct StoppedTraining : Training {
  StoppedTraining()
      : Training(hosts_count,
                 {{"nnodes", "1:4"},
                  {"max-restarts", "0"},
                  {"dead-after", "240s"},
                  {"last-call", "15s"},
                  {"nproc-per-node", "1"},
                  {"snapshot", std::string(snapshot_folder) + "/snapshot.pt"}},
                 {.time_max = std::chrono::seconds(120)},
                 {"env", "OMP_NUM_THREADS=1", HOSTS_TOY, "1000000000", "1000000000"}) {
    start_all();
    generation(1, hosts_count);
    wait_until("a trained epoch",
               [&] { return agent_of(0).out().find("Epoch 1 ") != std::string::npos; });
  }

  /// All ranks have stopped at the step of the only snapshot, which it returns.
  SnapshotName expect_one_step() {
    const std::multiset<std::string> steps = steps_of_stops(*this);
    REQUIRE(steps.size() == hosts_count);
    CHECK(std::set(steps.begin(), steps.end()).size() == 1);
    const e2e::Case& test = cluster().test();
    std::vector<std::string> snapshots = test.names_in(snapshot_folder);
    std::erase_if(snapshots,
                  [](const std::string& name) { return !name.starts_with("snapshot.pt."); });
    const SnapshotName saved = newest_snapshot(test, snapshot_folder);
    CHECK(snapshots == std::vector<std::string>{text_of(saved)});
    CHECK(*steps.begin() == "step " + std::to_string(saved.step));
    return saved;
  }
};

/// All get the signal in that order, `apart` from one to the next.
void expect_one_snapshot(milliseconds apart, const std::vector<int>& order) {
  CAPTURE(apart.count());
  CAPTURE(order.front());
  StoppedTraining job;
  for (const int host : order) {
    job.agent_of(host).send(SIGTERM);
    if (host == order.back()) break;
    CHECK(job.cluster().stays(apart, [&] { return job.newest() == 1; }));
  }
  const milliseconds told = now_boottime();
  job.expect_end(143);
  CHECK(now_boottime() - told <= grace + milliseconds(1'000));
  CHECK(job.newest() == 1);
  job.expect_one_step();
}

}  // namespace

TEST_CASE("hosts: SIGTERM to all hosts within 0.9 s saves one step, which all have reached") {
  if (!can_hold_hosts()) return;
  for (const int apart : {50, 300}) {
    expect_one_snapshot(milliseconds(apart), {3, 2, 1, 0});
    expect_one_snapshot(milliseconds(apart), {0, 1, 2, 3});
  }
}

TEST_CASE("hosts: the others go on at the step that a host which leaves has saved with them") {
  if (!can_hold_hosts()) return;
  for (const int leaving : {3, 0}) {
    CAPTURE(leaving);
    StoppedTraining job;
    job.agent_of(leaving).send(SIGTERM);
    CHECK(job.agent_of(leaving).wait() == 143);
    CHECK(count_on(job[leaving], job.generation(2, hosts_count - 1)) == 0);
    const std::string resumed =
        text_of(job.expect_one_step()) + " was saved by 4 ranks and this job has 3";
    std::vector<int> others{0, 1, 2, 3};
    std::erase(others, leaving);
    job.wait_until("a training that goes on from there", [&] {
      return std::ranges::any_of(others,
                                 [&](int host) { return has_said(job.agent_of(host), resumed); });
    });
    for (const int host : others) job.agent_of(host).send(SIGINT);
    for (const int host : others) CHECK(job.agent_of(host).wait() == 130);
  }
}

}  // namespace hosts
