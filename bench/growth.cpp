// Processor time of one coordinator and its roster for a job of many nodes: to form a generation,
// to stop it, to receive all successes, and for the longest event.
#include "bench/measure.hpp"
#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/membership/roster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace ddprun {
namespace {

class Job {
 public:
  Job(int nodes, int workers)
      : nodes_(nodes),
        workers_(workers),
        coordinator_(
            {.gathering = {.nodes_min = 1, .nodes_max = nodes}, .restarts = {.count_max = 1}}),
        roster_({.leader = {.agent = 1}, .nodes_min = 1, .nodes_max = nodes, .nodes_all = nodes},
                Instant{}) {}

  void run() {
    for (int node = 0; node < nodes_; ++node) {
      const Hello hello{.from = {static_cast<std::uint64_t>(node) + 100, 1},
                        .host = fmt::format("n{}", node),
                        .nodes_min = 1,
                        .nodes_max = nodes_,
                        .contact = fmt::format("10.{}.{}.1:1", node / 250, node % 250)};
      hear(Received{ConnectionId{node + 1}, hello});
    }
    say("hellos");
    for (int node = 0; node < nodes_; ++node) tell(join(node, 0));
    say("first forming");
    tell(WorkerFailed{GenerationNumber{1}, {}});
    say("stopping");
    for (int node = 0; node < nodes_; ++node) tell(join(node, 1));
    say("second forming");
    for (int rank = 0; rank < nodes_ * workers_; ++rank) {
      tell(WorkerSucceeded{GenerationNumber{2}, Rank{rank}});
    }
    say("successes");
  }

 private:
  Join join(int node, std::int64_t done_with) const {
    Join made;
    made.offer.node = NodeId{node};
    made.offer.host = fmt::format("n{}", node);
    made.offer.address = "10.0.0.1";
    made.offer.store_port = 4000;
    made.offer.worker_count = workers_;
    made.offer.agent = static_cast<std::uint64_t>(node) + 100;
    made.done_with = GenerationNumber{done_with};
    return made;
  }
  template <typename Feed>
  void measure(const Feed& feed) {
    const double before = bench::cpu_s();
    feed();
    const double used = 1e3 * (bench::cpu_s() - before);
    all_ += used;
    longest_ = std::max(longest_, used);
  }
  void tell(const CoordinatorEvent& event) {
    std::vector<CoordinatorAction> actions;
    measure([&] { coordinator_.on_event(Instant{1'000}, event, actions); });
  }
  void hear(const RosterEvent& event) {
    std::vector<RosterAction> actions;
    measure([&] { roster_.on_event(Instant{1'000}, event, actions); });
  }
  void say(const std::string& what) {
    fmt::print("{}: {:.1f} ms, the longest event {:.1f} ms\n", what, all_, longest_);
    all_ = longest_ = 0;
  }

  int nodes_;
  int workers_;
  Coordinator coordinator_;
  Roster roster_;
  double all_ = 0;
  double longest_ = 0;
};

}  // namespace
}  // namespace ddprun

int main(int count, char** arguments) {
  const int nodes = count > 1 ? std::atoi(arguments[1]) : 10'000;
  const int workers = count > 2 ? std::atoi(arguments[2]) : 8;
  ddprun::Job(nodes, workers).run();
}
