// How long a job takes to start, beside a bare srun of the same step, and beside one srun for each
// node at once. No test: it judges nothing, and runs by its name alone,
// `slurm_tests -tc='slurm bench: from*'`. SLURM_BENCH_DDPRUN names another ddprun, of a release
// build.
#include "tests/slurm/slurm_cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace slurm {
namespace {

constexpr int node_count = 4;
constexpr int rounds = 25;

/// Lines of round, column, and the times in µs at which it was started and at which each task was.
constexpr const char* script = R"sh(
steps() {
  for node in n0 n1 n2 n3; do
    srun --overlap --nodes=1 --ntasks=1 --nodelist=$node "$@" &
  done
  wait
}
round() {
  begun=${EPOCHREALTIME/./}
  "${@:3}" date +%s%6N 2>/dev/null >>out
  echo "$1 $2 $begun $(grep -o '[0-9]\{16\}' out | tr '\n' ' ')" >>rows
  rm out
}
each() {
  case $2 in
    step) round $1 step srun --overlap ;;
    steps) round $1 steps steps ;;
    ddprun) round $1 ddprun DDPRUN ;;
  esac
}
for i in $(seq ROUNDS); do
  for column in $(printf '%s\n' step steps ddprun | if ((i % 2)); then cat; else tac; fi); do
    each $i $column
  done
done
)sh";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.at(values.size() / 2);
}

/// "85.2 (83.1-90.4)": the median and the middle half.
std::string text_of(std::vector<double> values) {
  std::ranges::sort(values);
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(),
                      text.size(),
                      "%.2f (%.2f-%.2f)",
                      median(values),
                      values.at(values.size() / 4),
                      values.at(values.size() * 3 / 4));
  return text.data();
}

}  // namespace

TEST_CASE("slurm bench: from the start in a batch script to the last worker's") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(node_count, {.time_max = std::chrono::seconds(300)});
  const char* chosen = std::getenv("SLURM_BENCH_DDPRUN");
  const std::string ddprun = chosen == nullptr ? E2E_DDPRUN : chosen;
  const std::string text =
      replaced(replaced(script, "ROUNDS", std::to_string(rounds)), "DDPRUN", ddprun);
  const int job = slurm.submit(text, {"--nodes=" + std::to_string(node_count)});
  CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");

  std::map<std::string, std::map<int, double>> columns;  // ms by round
  std::istringstream rows(slurm.test().read("rows"));
  for (std::string line; std::getline(rows, line);) {
    std::istringstream words(line);
    int round = 0;
    std::string column;
    std::int64_t begun = 0;
    words >> round >> column >> begun;
    std::vector<std::int64_t> starts;
    for (std::int64_t start = 0; words >> start;) starts.push_back(start);
    REQUIRE(starts.size() == node_count);
    columns[column][round] =
        static_cast<double>(*std::ranges::max_element(starts) - begun) / 1000.0;
  }
  std::printf("| column | ms | ddprun / it |\n");
  for (const auto& [name, times] : columns) {
    std::vector<double> own;
    std::vector<double> ratios;
    for (const auto& [round, ms] : times) {
      own.push_back(ms);
      ratios.push_back(columns.at("ddprun").at(round) / ms);
    }
    std::printf("| %s | %s | %s |\n", name.c_str(), text_of(own).c_str(), text_of(ratios).c_str());
  }
}

}  // namespace slurm
