#include "tests/sim/plays.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace ddprun::sim {
namespace {

std::uint64_t hash_of(std::uint64_t seed) {
  Cluster cluster(draw_story(seed, {}));
  if (const std::string broken = cluster.run(); !broken.empty()) {
    fmt::print("seed {}: {}\n", seed, broken);
  }
  return cluster.trace_hash();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// For people, and a failure where a cell was missed that can be reached.
int judge(const Cells& cells) {
  const std::vector<std::string> missing = cells.missing();
  for (const std::string& cell : missing) fmt::print("never reached: {}\n", cell);
  fmt::print("{} of {} cells reached, {} cannot be\n",
             cells.reached_count(),
             cells.size(),
             Cells::impossible_count());
  return missing.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

/// Messages from host to host, for each host and second of a job in which two nodes are lost.
double messages_per_node(int hosts_count) {
  Story story;
  story.seed = 1;
  story.hosts.resize(static_cast<std::size_t>(hosts_count));
  for (StoryHost& host : story.hosts) host.workers = 1;
  story.nodes_min = story.nodes_max = hosts_count;
  story.nodes_min -= 2;
  story.faults_for = Millis{4'000};
  story.faults.push_back({.kind = FaultKind::power_off, .at = {3'000}, .host = 7, .time = {2'000}});
  Cluster cluster(std::move(story));
  if (const std::string broken = cluster.run(); !broken.empty()) {
    throw std::runtime_error(fmt::format("{} hosts: {}", hosts_count, broken));
  }
  const double seconds = in_seconds(cluster.schedule().now() - Instant{});
  const double each = static_cast<double>(cluster.messages_count()) / hosts_count / seconds;
  fmt::print("{} hosts: {} events, {:.2f} messages a host and second, {} generations\n",
             hosts_count,
             cluster.events_count(),
             each,
             cluster.generations_count());
  return each;
}

}  // namespace

int play_seeds(const Plan& plan) {
  std::uint64_t hash = 0;
  std::int64_t seeds = 0;
  std::int64_t events = 0;
  std::int64_t generations = 0;
  int failures = 0;
  int lost = 0;
  Cells cells;
  for (std::uint64_t seed = plan.first; seed <= plan.last; seed += plan.step) {
    const Story story = draw_story(seed, plan.wishes);
    if (plan.prints_options) fmt::print("seed {}: {}\n", seed, summary_of(story));
    Cluster cluster(story, plan.prints);
    const std::string broken = cluster.run();
    ++seeds;
    hash = hash * 31 + cluster.trace_hash();
    events += cluster.events_count();
    generations += cluster.generations_count();
    lost += cluster.majority_lost() ? 1 : 0;
    cells.add(cluster.cells());
    if (broken.empty()) continue;
    ++failures;
    fmt::print("seed {}: {}\n", seed, broken);
    if (plan.stops_at_failure) break;
  }
  fmt::print(
      "{} seeds, {} events, {} generations, {} failures, {} majorities lost, "
      "trace hash {:016x}\n",
      seeds,
      events,
      generations,
      failures,
      lost,
      hash);
  if (failures > 0) return EXIT_FAILURE;
  return plan.asks_for_cells ? judge(cells) : EXIT_SUCCESS;
}

Story story_of(const std::string& seed_or_path) {
  const bool is_seed = seed_or_path.find_first_not_of("0123456789") == std::string::npos;
  return is_seed ? draw_story(std::stoull(seed_or_path), {}) : read_story(read_file(seed_or_path));
}

int play_scenarios(const std::vector<std::string>& paths) {
  int failures = 0;
  Cluster::Prints prints = Cluster::Prints::nothing;
  for (const std::string& path : paths) {
    if (path == "--print") prints = Cluster::Prints::events;
  }
  for (const std::string& path : paths) {
    if (path == "--print") continue;
    Cluster cluster(read_story(read_file(path)), prints);
    const std::string broken = cluster.run();
    fmt::print("{}: {}\n", path, broken.empty() ? "holds" : broken);
    failures += broken.empty() ? 0 : 1;
  }
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int print_hashes(int count) {
  for (int seed = 1; seed <= count; ++seed) {
    fmt::print("{} {:016x}\n", seed, hash_of(static_cast<std::uint64_t>(seed)));
  }
  return EXIT_SUCCESS;
}

int check_hashes(const std::string& path) {
  std::istringstream lines(read_file(path));
  std::uint64_t seed = 0;
  std::string expected;
  int failures = 0;
  int count = 0;
  for (; lines >> seed >> expected; ++count) {
    const std::string found = fmt::format("{:016x}", hash_of(seed));
    if (found == expected) continue;
    ++failures;
    fmt::print("seed {}: {} here, {} in {}\n", seed, found, expected, path);
  }
  fmt::print("{} of {} hashes are the same\n", count - failures, count);
  return failures == 0 && count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int compare_scales(const std::string& counts) {
  constexpr double ratio_max = 1.05;
  const std::size_t comma = counts.find(',');
  if (comma == std::string::npos) throw std::invalid_argument("two numbers are needed");
  const double few = messages_per_node(std::stoi(counts));
  const double many = messages_per_node(std::stoi(counts.substr(comma + 1)));
  fmt::print("ratio {:.3f}\n", many / few);
  return many / few < ratio_max && few / many < ratio_max ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace ddprun::sim
