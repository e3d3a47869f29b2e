#include "tests/sim/plays.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
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

/// Of stories that are cut short nothing is asked but safety. Known ones may be so on purpose. A
/// sample of a kind with that share has more than three standard deviations more in 1 of 700 cases.
bool are_enough_shown(std::int64_t stories, std::int64_t cut_short) {
  constexpr std::int64_t stories_min = 100;
  constexpr double share_max = 0.05;
  const auto count = static_cast<double>(stories);
  const double deviation = std::sqrt(count * share_max * (1 - share_max));
  const double most = count * share_max + 3 * deviation;
  if (stories < stories_min || static_cast<double>(cut_short) <= most) return true;
  fmt::print("more than {:g} % of all stories are cut short\n", 100 * share_max);
  return false;
}

/// Of each host and second of a job in which one is lost for a while.
struct Cost {
  double messages = 0;  ///< From host to host.
  double processor_us = 0;
};

Cost cost_per_node(int hosts_count) {
  Story story;
  story.seed = 1;
  story.hosts.resize(static_cast<std::size_t>(hosts_count));
  story.know_hosts = false;  // a list of all, on each
  story.nodes_min = hosts_count - 1;
  story.nodes_max = hosts_count;
  story.faults_for = Millis{4'000};
  story.calm_for = {};
  story.faults.push_back({.kind = FaultKind::power_off, .at = {3'000}, .host = 7, .time = {2'000}});
  Cluster cluster(std::move(story));
  const std::clock_t begun = std::clock();
  if (const std::string broken = cluster.run(); !broken.empty()) {
    throw std::runtime_error(fmt::format("{} hosts: {}", hosts_count, broken));
  }
  const double processor_us = 1e6 * static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  const double host_seconds = hosts_count * in_seconds(cluster.schedule().now() - Instant{});
  const Cost cost{static_cast<double>(cluster.messages_count()) / host_seconds,
                  processor_us / host_seconds};
  fmt::print(
      "{} hosts: {} events, {} generations; a host and second: {:.2f} messages, {:.1f} us of the "
      "processor\n",
      hosts_count,
      cluster.events_count(),
      cluster.generations_count(),
      cost.messages,
      cost.processor_us);
  return cost;
}

struct Sum {
  std::int64_t stories = 0;
  std::int64_t events = 0;
  std::int64_t generations = 0;
  int failures = 0;
  int majorities_lost = 0;
  int early_ends = 0;
  std::uint64_t hash = 0;
  Cells cells;

  [[nodiscard]] std::int64_t cut_short() const { return majorities_lost + early_ends; }
  void play(const std::string& name, const Story& story, const Plan& plan) {
    if (plan.prints_options) fmt::print("{}: {}\n", name, summary_of(story));
    Cluster cluster(story, plan.prints);
    const std::string broken = cluster.run();
    ++stories;
    hash = hash * 31 + cluster.trace_hash();
    events += cluster.events_count();
    generations += cluster.generations_count();
    majorities_lost += cluster.majority_lost() ? 1 : 0;
    early_ends += cluster.ended_early() ? 1 : 0;
    cells.add(cluster.cells());
    for (const std::string& cell : plan.cells) {
      if (cluster.cells().reached(cell)) fmt::print("{} reaches {}\n", name, cell);
    }
    if (broken.empty()) return;
    ++failures;
    fmt::print("{}: {}\n", name, broken);
  }
};

}  // namespace

int play_all(const Plan& plan) {
  Sum sum;
  for (const std::string& path : plan.scenarios) {
    sum.play(path, read_story(read_file(path)), plan);
  }
  const Sum known = sum;
  const auto play_seeds = [&](const std::string& near, const auto& draw) {
    for (std::uint64_t seed = plan.first; seed <= plan.last; seed += plan.step) {
      if (plan.stops_at_failure && sum.failures > 0) return;
      sum.play(fmt::format("seed {}{}", seed, near), draw(seed), plan);
    }
  };
  for (const std::string& path : plan.near) {
    play_seeds(" near " + path, [written = read_story(read_file(path))](std::uint64_t seed) {
      return vary(written, seed);
    });
  }
  if (plan.near.empty()) {
    play_seeds("", [&](std::uint64_t seed) { return draw_story(seed, plan.wishes); });
  }
  fmt::print(
      "{} stories, {} events, {} generations, {} failures, {} majorities lost, {} ended early, "
      "trace hash {:016x}\n",
      sum.stories,
      sum.events,
      sum.generations,
      sum.failures,
      sum.majorities_lost,
      sum.early_ends,
      sum.hash);
  const std::int64_t cut_short = sum.cut_short() - known.cut_short();
  const bool shown = !plan.near.empty() || are_enough_shown(sum.stories - known.stories, cut_short);
  const int cells = plan.asks_for_cells ? judge(sum.cells) : EXIT_SUCCESS;
  return sum.failures > 0 || sum.stories == 0 || !shown ? EXIT_FAILURE : cells;
}

Story story_of(const std::string& seed_or_path, const Plan& plan) {
  const bool is_seed = seed_or_path.find_first_not_of("0123456789") == std::string::npos;
  if (!is_seed) return read_story(read_file(seed_or_path));
  const std::uint64_t seed = std::stoull(seed_or_path);
  if (plan.near.empty()) return draw_story(seed, plan.wishes);
  return vary(read_story(read_file(plan.near.front())), seed);
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
  const Cost few = cost_per_node(std::stoi(counts));
  const Cost many = cost_per_node(std::stoi(counts.substr(comma + 1)));
  const double ratio = many.messages / few.messages;
  fmt::print("ratio: {:.3f} of messages, {:.2f} of processor time, which is not judged\n",
             ratio,
             many.processor_us / few.processor_us);
  return ratio < ratio_max && 1 / ratio < ratio_max ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace ddprun::sim
