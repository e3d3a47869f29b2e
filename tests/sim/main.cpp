// Plays pretended jobs:
//   sim [--seeds A-B] [--step N] [--hosts N] [--faults N] [--one-head]
//       [--witness] [--print] [--first] [--cells]
// --one-head plays jobs that elect nobody, whose head may be held up but not lost; --witness those
// whose first host is a coordinator without workers; --first stops at
// the first seed that breaks a promise; --cells prints which events were never met in which states.
#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Plan {
  std::uint64_t first = 1;
  std::uint64_t last = 100;
  std::uint64_t step = 1;
  bool stops = false;  // at the first failure
  bool cells = false;
  ddprun::sim::ClusterOptions options;
};

Plan plan_of(const std::vector<std::string>& arguments) {
  Plan plan;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto value = [&] { return i + 1 < arguments.size() ? arguments[++i] : std::string("0"); };
    if (arguments[i] == "--seeds") {
      const std::string range = value();
      plan.first = std::stoull(range);
      const std::size_t dash = range.find('-');
      plan.last = dash == std::string::npos ? plan.first : std::stoull(range.substr(dash + 1));
    } else if (arguments[i] == "--step") {
      plan.step = std::stoull(value());
    } else if (arguments[i] == "--hosts") {
      plan.options.hosts_count = std::stoi(value());
    } else if (arguments[i] == "--faults") {
      plan.options.faults_count = std::stoi(value());
    } else if (arguments[i] == "--one-head") {
      plan.options.elects = false;
    } else if (arguments[i] == "--witness") {
      plan.options.witness = true;
    } else if (arguments[i] == "--print") {
      plan.options.prints = true;
    } else if (arguments[i] == "--first") {
      plan.stops = true;
    } else if (arguments[i] == "--cells") {
      plan.cells = true;
    }
  }
  return plan;
}

}  // namespace

int main(int argc, char** argv) {
  const Plan plan = plan_of({argv + 1, argv + argc});
  std::uint64_t hash = 0;
  std::int64_t events = 0;
  std::int64_t generations = 0;
  int failures = 0;
  int lost = 0;
  ddprun::sim::Cells cells;
  for (std::uint64_t seed = plan.first; seed <= plan.last; seed += plan.step) {
    ddprun::sim::Cluster cluster(seed, plan.options);
    const std::string broken = cluster.run();
    hash = hash * 31 + cluster.trace_hash();
    events += cluster.events_count();
    generations += cluster.generations_count();
    lost += cluster.majority_lost() ? 1 : 0;
    cells.add(cluster.cells());
    if (broken.empty()) continue;
    ++failures;
    fmt::print("seed {}: {}\n", seed, broken);
    if (plan.stops) break;
  }
  const std::vector<std::string> missing = cells.missing();
  if (plan.cells) {
    for (const std::string& cell : missing) fmt::print("never reached: {}\n", cell);
    fmt::print("{} of {} cells reached\n", cells.size() - missing.size(), cells.size());
  }
  fmt::print(
      "{} seeds, {} events, {} generations, {} failures, {} majorities lost, "
      "trace hash {:016x}\n",
      (plan.last - plan.first) / plan.step + 1,
      events,
      generations,
      failures,
      lost,
      hash);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
