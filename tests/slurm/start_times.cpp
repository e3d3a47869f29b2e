#include "tests/slurm/start_times.hpp"

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

/// Lines of round, column, user and system time in s, and the times in µs at which it was started
/// and at which each task was.
constexpr const char* start_script = R"sh(
TIMEFORMAT='%U %S'
nodes=$(scontrol show hostnames)
rm -f rows err
steps() {
  for node in $nodes; do
    srun --overlap --nodes=1 --ntasks=1 --nodelist=$node "$@" &
  done
  wait
}
round() {
  begun=${EPOCHREALTIME/./}
  { time "${@:3}" date +%s%6N 2>>err >>out; } 2>cpu
  echo "$1 $2 $(cat cpu) $begun $(grep -o '[0-9]\{16\}' out | tr '\n' ' ')" >>rows
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

/// In ms, a value for each round.
struct Column {
  std::vector<double> starts;
  std::vector<double> processor;
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// "85.2 (83.1-90.4)": the median and the middle half.
std::string median_text(std::vector<double> values) {
  std::ranges::sort(values);
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(),
                      text.size(),
                      "%.2f (%.2f-%.2f)",
                      values.at(values.size() / 2),
                      values.at(values.size() / 4),
                      values.at(values.size() * 3 / 4));
  return text.data();
}

std::map<std::string, Column> columns_of(SlurmCluster& slurm, int node_count) {
  std::map<std::string, Column> columns;
  std::istringstream rows(slurm.test().read("rows"));
  for (std::string line; std::getline(rows, line);) {
    std::istringstream words(line);
    int round = 0;
    std::string name;
    double user_s = 0;
    double system_s = 0;
    std::int64_t begun = 0;
    words >> round >> name >> user_s >> system_s >> begun;
    std::vector<std::int64_t> starts;
    for (std::int64_t start = 0; words >> start;) starts.push_back(start);
    const std::string why = line + "\n" + slurm.test().read("err");
    REQUIRE_MESSAGE(static_cast<int>(starts.size()) == node_count, why);
    Column& column = columns[name];
    const std::int64_t took_us = *std::ranges::max_element(starts) - begun;
    column.starts.push_back(static_cast<double>(took_us) / 1000.0);
    column.processor.push_back((user_s + system_s) * 1000.0);
  }
  return columns;
}

}  // namespace

std::string measured_ddprun() {
  const char* chosen = std::getenv("SLURM_BENCH_DDPRUN");
  return chosen == nullptr ? E2E_DDPRUN : chosen;
}

std::string first_nodes(int count) {
  return "n[0-" + std::to_string(count - 1) + "]";
}

void print_start_head() {
  std::printf("| nodes | column | ms | ddprun / it | processor ms |\n");
}

void print_start_times(SlurmCluster& slurm, const StartRounds& rounds) {
  const std::string text = replaced(
      replaced(start_script, "ROUNDS", std::to_string(rounds.count)), "DDPRUN", measured_ddprun());
  const int job = slurm.submit(text,
                               {"--nodes=" + std::to_string(rounds.node_count),
                                "--nodelist=" + first_nodes(rounds.node_count)});
  CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");
  const auto columns = columns_of(slurm, rounds.node_count);
  const std::vector<double>& ddprun = columns.at("ddprun").starts;
  for (const auto& [name, column] : columns) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < column.starts.size(); ++round) {
      ratios.push_back(ddprun.at(round) / column.starts[round]);
    }
    std::printf("| %d | %s | %s | %s | %s |\n",
                rounds.node_count,
                name.c_str(),
                median_text(column.starts).c_str(),
                median_text(ratios).c_str(),
                median_text(column.processor).c_str());
  }
  (void)std::fflush(stdout);
}

}  // namespace slurm
