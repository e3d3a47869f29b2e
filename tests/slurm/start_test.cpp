// That a pretended cluster comes up, is a Slurm of its own, and goes without a trace.
#include "tests/slurm/slurm_cluster.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace slurm {
namespace {

namespace fs = std::filesystem;

using Times = std::map<std::string, fs::file_time_type>;

/// Where a Slurm keeps its files that is told nothing else, and when each was changed.
Times files_of_own_slurm() {
  std::error_code gone;
  Times files;
  for (const char* folder : {"/etc", "/run", "/var/lib", "/var/log", "/var/spool"}) {
    for (const auto& entry : fs::directory_iterator(folder, gone)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("slurm") && !name.starts_with("munge")) continue;
      files[entry.path()] = entry.last_write_time(gone);
      for (const auto& inner : fs::recursive_directory_iterator(entry, gone)) {
        files[inner.path()] = inner.last_write_time(gone);
      }
    }
  }
  return files;
}

std::size_t open_descriptors() {
  const fs::directory_iterator descriptors("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(descriptors), end(descriptors)));
}

/// Every process in one of these namespaces.
std::vector<int> processes_in(const std::set<std::string>& networks) {
  std::vector<int> pids;
  for (const int pid : e2e::all_processes()) {
    if (networks.contains(hosts::namespace_name(pid, "net"))) pids.push_back(pid);
  }
  return pids;
}

}  // namespace

TEST_CASE("slurm kit: all nodes come up idle, each on a host of its own") {
  if (!can_run_slurm()) return;
  SlurmCluster slurm(3);
  for (int node = 0; node < slurm.size(); ++node) {
    const Record record = slurm.node(node);
    CHECK(record.at("State") == "IDLE");
    CHECK(record.at("NodeHostName") == slurm[node].name());
    CHECK(record.at("NodeAddr") == slurm[node].address());
    hosts::Program& nodes = slurm.run(slurm[node], {"sinfo", "-h", "-o", "%D %T %N"});
    CHECK(nodes.wait() == 0);
    CHECK(nodes.out() == "3 idle n[0-2]\n");
  }
}

TEST_CASE("slurm kit: nothing is left of a cluster, and the machine's own Slurm is as before") {
  if (!can_run_slurm()) return;
  const Times files_before = files_of_own_slurm();
  const std::size_t descriptors_before = open_descriptors();
  std::set<std::string> networks;
  fs::path folder;
  {
    SlurmCluster slurm(2);
    folder = slurm.test().folder();
    const int job = slurm.submit("srun uname -n\n", {"--nodes=2"});
    for (const hosts::Host* host : {&slurm[0], &slurm[1], &slurm.head()}) {
      for (const int pid : host->processes()) networks.insert(hosts::namespace_name(pid, "net"));
    }
    CHECK(networks.size() == 3);
    CHECK(slurm.wait_for_end(job).at("JobState") == "COMPLETED");
    CHECK(files_of_own_slurm() == files_before);
  }
  CHECK_FALSE(fs::exists(folder));
  CHECK_MESSAGE(processes_in(networks).empty(), e2e::description_of(processes_in(networks)));
  CHECK(open_descriptors() == descriptors_before);
  CHECK(files_of_own_slurm() == files_before);
}

}  // namespace slurm
