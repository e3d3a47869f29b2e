// One job of ddprun on many hosts, with tests/hosts/worker.cpp as its program. At its end it
// asserts that the watch has missed none of its workers.
#pragma once

#include "tests/hosts/cluster.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace hosts {

// The interface under test, in one place.
constexpr const char* rendezvous_port = "29400";  // no two hosts share one, so it is free
constexpr std::chrono::milliseconds dead_after{1500};
constexpr std::chrono::milliseconds join_timeout{20'000};
/// From a loss to the workers of the next generation: detection, and this.
constexpr std::chrono::milliseconds formation_max{2000};
constexpr int status_no_rendezvous = 69;
constexpr int status_usage = 2;

/// By name, without the dashes; an empty value: the name alone.
using Options = std::map<std::string, std::string>;

/// What a worker has said of its start.
struct Start {
  int generation = 0;
  int rank = 0;
  int world_size = 0;
  std::string host;
  std::string master;  ///< "ADDRESS PORT"
  int restart_count = 0;
  int local_rank = 0;
  bool reached_store = false;
  std::chrono::milliseconds at{0};  ///< CLOCK_BOOTTIME
};

[[nodiscard]] std::chrono::milliseconds now_boottime();

class Training {
 public:
  /// `options` are those of every node; they are added to the usual ones or replace them. With a
  /// `program`, workers become that once they have said that they started.
  explicit Training(int host_count,
                    Options options = {},
                    const ClusterOptions& cluster = {},
                    const Words& program = {});
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  [[nodiscard]] Cluster& cluster() { return cluster_; }
  Host& operator[](int host) { return cluster_[host]; }

  /// Runs ddprun on a host, with more or other options.
  Program& start(int host, const Options& options = {});
  /// The same as the first process of a container, which ends with it: child_of() the program.
  Program& start_in_container(int host);
  /// Runs a coordinator without workers there.
  Program& start_coordinator(int host);
  /// On every host, in order; a first generation waits for all of them, however slow a machine is.
  void start_all();
  /// The newest ddprun of a host.
  [[nodiscard]] Program& agent_of(int host) { return *cluster_[host].programs().back(); }

  /// The inner one of the newest ddprun's two processes, the parent of workers; waits for it.
  [[nodiscard]] int agent_process(int host);
  /// The first one; waits for it.
  [[nodiscard]] int child_of(int pid);

  /// Throws as the cluster's does, and as soon as every ddprun has ended.
  void wait_until(const std::string& what, const std::function<bool()>& happened);
  /// Waits until all its workers have started, checks that they agree and returns them in the order
  /// of ranks.
  std::vector<Start> generation(int number, int world_size);
  /// All that have started until now.
  [[nodiscard]] std::vector<Start> starts();
  /// The newest number of a generation; 0: there is none.
  [[nodiscard]] int newest();
  /// The processes of workers that live now, on one host.
  [[nodiscard]] std::vector<int> workers(int host);

  /// Tells all workers to end with success.
  void finish();
  void fail(int generation, int rank, int status);
  /// Tells one to print so many lines of 64 bytes.
  void say(int generation, int rank, int line_count);
  /// Tells one to start a process that writes to that file of the test's folder.
  void write_beside(int generation, int rank, const std::string& file);

  /// Waits for the end of every ddprun on a host that is on, and checks its status.
  void expect_end(int status);

 private:
  [[nodiscard]] bool all_ended();
  [[nodiscard]] Words command(const Words& program, const Options& options) const;

  Options options_;
  Cluster cluster_;
  Words worker_{HOSTS_WORKER};
};

/// Whether it has written that to standard error.
[[nodiscard]] bool has_said(const Program& program, const std::string& text);

/// How many of them are on that host.
[[nodiscard]] int count_on(const Host& host, const std::vector<Start>& starts);

}  // namespace hosts
