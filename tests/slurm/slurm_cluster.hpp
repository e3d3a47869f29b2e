// A real Slurm on pretended hosts: the nodes n0, n1... with a slurmd each, and one host more with
// slurmctld and the only munged, whose socket all hosts see. Its daemons are programs of the hosts
// and read and write the test's folder alone. When the test ends, nothing of a job may run any
// more; what does is a failure, and is killed with the daemons.
//
// Slurm tells nobody when a state has changed, so it is asked again and again, within the test's
// deadline.
#pragma once

#include "tests/hosts/cluster.hpp"
#include "tests/slurm/configuration.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace slurm {

using e2e::operator+;
using hosts::Words;

/// Of a test: Slurm takes up to 20 s to notice that a node is gone, and half a minute to look for
/// jobs whose time is over.
constexpr std::chrono::seconds case_time_max{120};

/// Whether a Slurm can run here; if not, says that the test is skipped and why.
[[nodiscard]] bool can_run_slurm();

/// A shell command that waits for a file of the test's folder.
[[nodiscard]] std::string wait_for_file(const std::string& name);

/// What Slurm says of a job or a node, by its own names: JobState, Restarts, NodeList...
using Record = std::map<std::string, std::string>;

class SlurmCluster {
 public:
  /// Returns when all nodes are idle.
  explicit SlurmCluster(int node_count,
                        const hosts::ClusterOptions& options = {.time_max = case_time_max},
                        Binding binding = Binding::none,
                        Timing timing = Timing::shortest);
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

  [[nodiscard]] hosts::Cluster& cluster() { return cluster_; }
  [[nodiscard]] e2e::Case& test() { return cluster_.test(); }
  hosts::Host& operator[](int node) { return cluster_[node]; }
  [[nodiscard]] hosts::Host& head() { return cluster_[node_count_]; }
  [[nodiscard]] int size() const { return node_count_; }

  /// Starts a program on a host, which finds this Slurm there.
  hosts::Program& run(hosts::Host& host, const Words& words);
  /// Runs a command of Slurm on the head, to its end; throws if it fails.
  std::string ask(const Words& words);

  /// Sends a shell script, with more options for sbatch, and returns the job's number. slurmctld
  /// starts no script in its first three seconds.
  [[nodiscard]] int submit(const std::string& script, const Words& options = {});
  /// What the script has printed.
  [[nodiscard]] std::string output(int job);
  /// Checks that it has printed that text so often.
  void expect_output(int job, const std::string& text, std::size_t count = 1);
  [[nodiscard]] Record job(int number);
  [[nodiscard]] Record node(int index);

  /// Throws at the test's deadline; `happened` may ask Slurm.
  void wait_until(const std::string& what, const std::function<bool()>& happened);
  /// Until nothing of the job runs any more; what Slurm then says of it.
  Record wait_for_end(int number);
  void wait_until_idle();
  /// Until Slurm has given that node up.
  void wait_until_down(int index);

  /// On all nodes: from now on a driver lists the two GPUs that Slurm knows of, and hides none.
  void show_gpus();

  [[nodiscard]] hosts::Program& slurmd(int node) { return *slurmds_.at(node); }
  /// On a node that has power and no slurmd; returns when it listens.
  void start_slurmd(int node);
  void power_off(int node) { cluster_[node].power_off(); }
  /// And starts slurmd.
  void power_on(int node);

 private:
  void start_munged();
  hosts::Program& start_daemon(hosts::Host& host, const Words& words, int port);
  [[nodiscard]] std::vector<int> processes_of_jobs();

  int node_count_;
  hosts::Cluster cluster_;
  hosts::Program* munged_ = nullptr;
  hosts::Program* slurmctld_ = nullptr;
  std::map<int, hosts::Program*> slurmds_;
};

}  // namespace slurm
