// Plays pretended jobs:
//   sim [--seeds A-B] [--step N] [--hosts N] [--faults N] [--print] [--first]
// where the last one stops at the first seed that breaks a promise.
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
    } else if (arguments[i] == "--print") {
      plan.options.prints = true;
    } else if (arguments[i] == "--first") {
      plan.stops = true;
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
  for (std::uint64_t seed = plan.first; seed <= plan.last; seed += plan.step) {
    ddprun::sim::Cluster cluster(seed, plan.options);
    const std::string broken = cluster.run();
    hash = hash * 31 + cluster.trace_hash();
    events += cluster.events_count();
    generations += cluster.generations_count();
    if (broken.empty()) continue;
    ++failures;
    fmt::print("seed {}: {}\n", seed, broken);
    if (plan.stops) break;
  }
  fmt::print("{} seeds, {} events, {} generations, {} failures, trace hash {:016x}\n",
             (plan.last - plan.first) / plan.step + 1,
             events,
             generations,
             failures,
             hash);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
