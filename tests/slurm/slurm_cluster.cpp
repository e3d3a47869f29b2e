#include "tests/slurm/slurm_cluster.hpp"

#include "tests/e2e/process_table.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace slurm {
namespace {

using e2e::Clock;
using hosts::path_of_tool;

constexpr std::chrono::milliseconds ask_again{100};

const std::array daemon_names{"munged", "slurmctld", "slurmd"};
const std::array final_states{
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "FAILED", "NODE_FAIL", "PREEMPTED", "TIMEOUT"};

hosts::Variables environment_of(const std::filesystem::path& folder) {
  return {{"SLURM_CONF", folder / "slurm.conf"}};
}

Record record_of(const std::string& text) {
  Record record;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) record[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return record;
}

/// Slurm takes only devices for GPUs.
void make_null_device(const std::filesystem::path& path) {
  if (::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) return;
  throw std::system_error(errno, std::generic_category(), path.string());
}

/// Whether anybody on the host of that process listens at the port.
bool is_open(int pid, int port) {
  std::array<char, 40> listening{};  // as proc(5) has it: port, nobody's address, state LISTEN
  (void)std::snprintf(listening.data(), listening.size(), ":%04X 00000000:0000 0A", port);
  return e2e::file_of(pid, "net/tcp").find(listening.data()) != std::string::npos;
}

}  // namespace

bool can_run_slurm() {
  if (!hosts::can_hold_hosts()) return false;
  for (const char* name : daemon_names) {
    if (!path_of_tool(name).empty()) continue;
    std::printf("skipped: there is no %s (Debian: slurmctld slurmd munge)\n", name);
    return false;
  }
  return true;
}

std::string wait_for_file(const std::string& name) {
  return "until [ -e " + name + " ]; do sleep 0.05; done";
}

SlurmCluster::SlurmCluster(int node_count,
                           const hosts::ClusterOptions& options,
                           Binding binding,
                           Timing timing)
    : node_count_(node_count), cluster_(node_count + 1, options) {
  const std::filesystem::path folder = test().folder();
  test().write(
      "slurm.conf",
      text_of({.node_count = node_count, .folder = folder, .binding = binding, .timing = timing}));
  test().write("gres.conf", text_of_devices(folder));
  for (const char* device : {"nvidia0", "nvidia1"}) make_null_device(folder / device);
  std::filesystem::create_directory(folder / "state");
  start_munged();
  slurmctld_ = &start_daemon(head(), {path_of_tool("slurmctld"), "-D"}, controller_port);
  for (int node = 0; node < node_count; ++node) start_slurmd(node);
  wait_until_idle();
}

SlurmCluster::~SlurmCluster() {
  if (cluster_.stays(e2e::leftover_time_max, [&] { return !processes_of_jobs().empty(); })) {
    FAIL_CHECK("these processes are left of jobs:\n", e2e::description_of(processes_of_jobs()));
  }
  for (hosts::Program* daemon : {munged_, slurmctld_}) {
    if (head().on() && daemon->ended()) FAIL_CHECK("a daemon has ended\n", daemon->description());
  }
  for (int index = 0; index < cluster_.size(); ++index) {
    for (const auto& program : cluster_[index].programs()) program->kill();
  }
}

hosts::Program& SlurmCluster::run(hosts::Host& host, const Words& words) {
  return host.run(words, environment_of(test().folder()));
}

std::string SlurmCluster::ask(const Words& words) {
  return head().answer(words, environment_of(test().folder()));
}

int SlurmCluster::submit(const std::string& script, const Words& options) {
  const std::string file = test().script("batch", "#!/bin/bash\n" + script);
  return std::stoi(ask(Words{"sbatch", "--parsable", "--output=job.%j"} + options + Words{file}));
}

std::string SlurmCluster::output(int job) {
  return test().read("job." + std::to_string(job));
}

void SlurmCluster::expect_output(int job, const std::string& text, std::size_t count) {
  const std::string said = output(job);
  CHECK_MESSAGE(e2e::count_of(text, said) == count, text, "\nin\n", said);
}

Record SlurmCluster::job(int number) {
  return record_of(ask({"scontrol", "--oneliner", "show", "job", std::to_string(number)}));
}

Record SlurmCluster::node(int index) {
  return record_of(ask({"scontrol", "--oneliner", "show", "node", cluster_[index].name()}));
}

void SlurmCluster::wait_until(const std::string& what, const std::function<bool()>& happened) {
  auto next = Clock::now();
  cluster_.wait_until(what, [&] {
    if (Clock::now() < next) return false;
    const bool yes = happened();
    next = Clock::now() + ask_again;
    return yes;
  });
}

Record SlurmCluster::wait_for_end(int number) {
  Record record;
  wait_until("end of job " + std::to_string(number), [&] {
    record = job(number);
    return std::ranges::find(final_states, record["JobState"]) != final_states.end();
  });
  return record;
}

void SlurmCluster::wait_until_idle() {
  wait_until("cluster that is idle", [&] {
    for (int index = 0; index < node_count_; ++index) {
      if (node(index)["State"] != "IDLE") return false;
    }
    return true;
  });
}

void SlurmCluster::wait_until_down(int index) {
  wait_until("node that is DOWN", [&] { return node(index)["State"].starts_with("DOWN"); });
}

void SlurmCluster::show_gpus() {
  for (const std::string slot : {"1a", "2a"}) {
    test().write("driver/nvidia/gpus/0000:" + slot + ":00.0/information",
                 "Model: \t\t pretended\nGPU UUID: \t GPU-" + slot + "\n");
  }
  const std::string folder = test().folder() / "driver";
  for (int node = 0; node < node_count_; ++node) {
    cluster_[node].answer({"mount", "--bind", folder, "/proc/driver"});
  }
}

void SlurmCluster::start_slurmd(int node) {
  slurmds_[node] = &start_daemon(cluster_[node], {path_of_tool("slurmd"), "-D"}, node_port);
}

void SlurmCluster::power_on(int node) {
  cluster_[node].power_on();
  start_slurmd(node);
}

void SlurmCluster::start_munged() {
  head().answer({path_of_tool("mungekey"), "--create", "--keyfile=munge.key"});
  const std::filesystem::path folder = test().folder();
  munged_ = &head().run({path_of_tool("munged"),
                         "--foreground",
                         "--force",  // that the folder is closed to other users is no matter
                         "--origin=lo",
                         "--socket=" + munge_socket(folder).string(),
                         "--key-file=" + (folder / "munge.key").string(),
                         "--pid-file=" + (folder / "munge.pid").string(),
                         "--seed-file=" + (folder / "munge.seed").string()});
  cluster_.wait_until("munged", [&] { return test().has(munge_socket(folder)); });
}

hosts::Program& SlurmCluster::start_daemon(hosts::Host& host, const Words& words, int port) {
  hosts::Program& daemon = run(host, words);
  cluster_.wait_until(words.front() + " that listens", [&] {
    if (daemon.ended()) throw std::runtime_error(daemon.description());
    return is_open(daemon.pid(), port);
  });
  return daemon;
}

std::vector<int> SlurmCluster::processes_of_jobs() {
  std::vector<int> daemons = e2e::children_of(slurmctld_->pid());
  daemons.push_back(slurmctld_->pid());
  daemons.push_back(munged_->pid());
  for (const auto& [node, slurmd] : slurmds_) daemons.push_back(slurmd->pid());
  std::vector<int> others;
  for (int index = 0; index < cluster_.size(); ++index) {
    for (const int pid : cluster_[index].processes()) {
      if (std::ranges::find(daemons, pid) == daemons.end()) others.push_back(pid);
    }
  }
  return others;
}

}  // namespace slurm
