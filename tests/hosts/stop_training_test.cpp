// A job that trains, with examples/toy.cpp, and ends by a signal to each of its hosts.
#include "tests/hosts/replay.hpp"
#include "tests/hosts/snapshots.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <set>

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

/// One of four hosts is enough, and no snapshot is due. All get the signal, from the last host to
/// the first, `apart` from one to the next.
void expect_one_snapshot(milliseconds apart) {
  CAPTURE(apart.count());
  Training job(hosts_count,
               {{"nnodes", "1:4"},
                {"max-restarts", "0"},
                {"dead-after", "240s"},
                {"last-call", "15s"},
                {"nproc-per-node", "1"},
                {"snapshot", std::string(snapshot_folder) + "/snapshot.pt"}},
               {.time_max = std::chrono::seconds(120)},
               {"env", "OMP_NUM_THREADS=1", HOSTS_TOY, "1000000000", "1000000000"});
  job.start_all();
  job.generation(1, hosts_count);
  job.wait_until("a trained epoch",
                 [&] { return job.agent_of(0).out().find("Epoch 1 ") != std::string::npos; });
  for (int host = hosts_count - 1; host >= 0; --host) {
    job.agent_of(host).send(SIGTERM);
    if (host > 0) CHECK(job.cluster().stays(apart, [&] { return job.newest() == 1; }));
  }
  const milliseconds told = now_boottime();
  job.expect_end(143);
  CHECK(now_boottime() - told <= grace + milliseconds(1'000));
  CHECK(job.newest() == 1);
  const std::multiset<std::string> steps = steps_of_stops(job);
  CHECK(steps.size() == hosts_count);
  CHECK(std::set(steps.begin(), steps.end()).size() == 1);
  const e2e::Case& test = job.cluster().test();
  std::vector<std::string> snapshots = test.names_in(snapshot_folder);
  std::erase_if(snapshots,
                [](const std::string& name) { return !name.starts_with("snapshot.pt."); });
  const SnapshotName saved = newest_snapshot(test, snapshot_folder);
  CHECK(snapshots == std::vector<std::string>{text_of(saved)});
  CHECK(*steps.begin() == "step " + std::to_string(saved.step));
}

}  // namespace

TEST_CASE("hosts: SIGTERM to all hosts within 0.9 s saves one step, which all have reached") {
  if (!can_hold_hosts()) return;
  for (const int apart : {50, 300}) expect_one_snapshot(milliseconds(apart));
}

}  // namespace hosts
