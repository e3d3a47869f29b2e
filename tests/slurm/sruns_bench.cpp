// What one srun for each node costs the node of the batch script, as the nodes become many: the
// time of a start, and what the programs there hold and do while the job runs. No test: it judges
// nothing, and runs by its name alone, `slurm_tests -tc='slurm bench: sruns*'`. SLURM_BENCH_DDPRUN
// names another ddprun, of a release build.
#include "tests/e2e/process_table.hpp"
#include "tests/slurm/start_times.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace slurm {
namespace {

constexpr std::array sizes{4, 16, 64, 128};
constexpr std::array rounds_each{15, 9, 5, 5};  // with so many nodes
constexpr std::chrono::seconds calm_after{2};
constexpr std::chrono::seconds idle_for{10};

constexpr const char* idle_worker_text = "#!/bin/sh\ntouch up.$RANK\nexec sleep 3600\n";

/// "Pss: 12 kB": the 12 of a line of /proc.
std::int64_t number_of(int pid, const std::string& file, const std::string& key) {
  std::istringstream lines(e2e::file_of(pid, file));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1));
  }
  return 0;
}

std::int64_t entries_of(int pid, const char* folder) {
  std::error_code ended;
  const std::filesystem::directory_iterator entries("/proc/" + std::to_string(pid) + "/" + folder,
                                                    ended);
  return std::distance(begin(entries), end(entries));
}

/// The processor time that its threads have had; of those that live.
std::int64_t processor_ns_of(int pid) {
  std::error_code ended;
  std::int64_t sum = 0;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ended)) {
    std::int64_t ns = 0;
    std::ifstream(task.path() / "schedstat") >> ns;
    sum += ns;
  }
  return sum;
}

struct Usage {
  std::int64_t processes = 0;
  std::int64_t threads = 0;
  std::int64_t pss_kb = 0;
  std::int64_t private_kb = 0;
  std::int64_t files_most = 0;  ///< Of one process.
  std::int64_t processor_ns = 0;
};

Usage usage_of(const std::vector<int>& pids) {
  Usage usage;
  for (const int pid : pids) {
    ++usage.processes;
    usage.threads += number_of(pid, "status", "Threads");
    usage.pss_kb += number_of(pid, "smaps_rollup", "Pss");
    usage.private_kb += number_of(pid, "smaps_rollup", "Private_Dirty");
    usage.files_most = std::max(usage.files_most, entries_of(pid, "fd"));
    usage.processor_ns += processor_ns_of(pid);
  }
  return usage;
}

/// The script's ddprun, and what it has started there; no agent, although one runs beside them.
std::vector<int> script_programs(SlurmCluster& slurm, const std::string& name) {
  std::vector<int> pids = slurm[0].processes();
  std::erase_if(pids, [&](int pid) {
    if (e2e::file_of(pid, "comm") != name + "\n") return true;
    const std::string words = e2e::file_of(pid, "cmdline");
    const std::string agent = std::string("ddprun\0agent\0", 13);
    return name == "ddprun" && words.find(agent) != std::string::npos;
  });
  return pids;
}

void print_usage(SlurmCluster& slurm, int node_count) {
  const std::array<std::string, 2> names{"srun", "ddprun"};
  std::array<Usage, 2> before;
  for (std::size_t i = 0; i < names.size(); ++i) {
    before.at(i) = usage_of(script_programs(slurm, names.at(i)));
  }
  slurm.cluster().stays(idle_for, [] { return true; });
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Usage now = usage_of(script_programs(slurm, names.at(i)));
    const std::int64_t spent_ns = now.processor_ns - before.at(i).processor_ns;
    std::printf("| %d | %s | %d | %d | %.1f | %.1f | %d | %.1f |\n",
                node_count,
                names.at(i).c_str(),
                static_cast<int>(now.processes),
                static_cast<int>(now.threads),
                static_cast<double>(now.pss_kb) / 1024.0,
                static_cast<double>(now.private_kb) / 1024.0,
                static_cast<int>(now.files_most),
                static_cast<double>(spent_ns) / 1e6);
  }
  (void)std::fflush(stdout);
}

int workers_up(SlurmCluster& slurm) {
  return static_cast<int>(std::ranges::count_if(
      slurm.test().names_in("."), [](const auto& name) { return name.starts_with("up."); }));
}

/// A job that waits is looked at, twice.
void measure_waiting(SlurmCluster& slurm, int node_count) {
  const std::string worker = slurm.test().script("wait", idle_worker_text);
  const int job = slurm.submit(
      "rm -f up.*\n" + measured_ddprun() + " " + worker + "\n",
      {"--nodes=" + std::to_string(node_count), "--nodelist=" + first_nodes(node_count)});
  slurm.wait_until("workers", [&] { return workers_up(slurm) == node_count; });
  slurm.cluster().stays(calm_after, [] { return true; });
  print_usage(slurm, node_count);
  slurm.ask({"scancel", std::to_string(job)});
  CHECK(slurm.wait_for_end(job).at("JobState") == "CANCELLED");
  slurm.wait_until_idle();
  // Slurm's proctrack/linuxproc has lost sight of it, and it still asks a busy Slurm what happened.
  slurm.wait_until("end of ddprun", [&] { return script_programs(slurm, "ddprun").empty(); });
}

}  // namespace

TEST_CASE("slurm bench: sruns of a job with many nodes") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(
      sizes.back(), {.time_max = std::chrono::seconds(900)}, Binding::none, Timing::defaults);
  print_start_head();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    print_start_times(slurm, {.node_count = sizes.at(i), .count = rounds_each.at(i)});
  }
  std::printf(
      "| nodes | programs | processes | threads | Pss MiB | private MiB | most files of one | "
      "processor ms in 10 s |\n");
  for (const int size : sizes) measure_waiting(slurm, size);
}

}  // namespace slurm
