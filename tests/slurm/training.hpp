// A job on a pretended Slurm whose workers say that they have begun and do as they are told, by
// files in the test's folder, which all hosts share.
#pragma once

#include "tests/slurm/slurm_cluster.hpp"

#include <chrono>
#include <map>
#include <string>

namespace slurm {

/// What a worker has found in its environment.
struct Start {
  int local_rank = 0;
  int local_world_size = 0;
  int world_size = 0;
  std::string host;
  std::string master_address;
  std::string threads;
  std::string gpus;
};
using Starts = std::map<int, Start>;  // by rank

class Training {
 public:
  /// At SIGTERM workers save, which takes so long. Where no time is given they end by it.
  explicit Training(int node_count, std::chrono::milliseconds save_time = {});

  [[nodiscard]] SlurmCluster& slurm() { return slurm_; }

  /// A batch script that runs ddprun with the worker, between two other pieces of script.
  [[nodiscard]] int submit(const Words& options,
                           const Words& sbatch_options,
                           const std::string& before = "",
                           const std::string& after = "");
  /// The same on all nodes; returns when a worker has begun on each.
  [[nodiscard]] int start(const Words& options = {},
                          const Words& sbatch_options = {},
                          const std::string& before = "",
                          const std::string& after = "");
  /// As `submit`, for any command in front of the worker's name,
  [[nodiscard]] int submit_command(const std::string& command, const Words& sbatch_options);
  /// and for a script as it is, with `arguments`: ddprun and the examples are on its PATH, and the
  /// worker is ./train.
  [[nodiscard]] int submit_file(const std::string& path,
                                const Words& sbatch_options = {},
                                const Words& arguments = {});

  /// Waits until so many workers of a generation have begun.
  Starts generation(int number, std::size_t count);
  /// Waits until two have begun on each node, and checks what they were told.
  void expect_two_each();

  /// Workers end with 0, or that one with that status.
  void finish() { slurm_.test().write("finish", ""); }
  void fail(int rank, int status);
  /// Lets workers end with 0, waits for the job's end, and checks that all is well to Slurm,
  void complete(int job);
  /// or to ddprun, which `submit` has started: Slurm may say otherwise when a node was lost.
  void complete_with_losses(int job);
  /// Checks that a script of `submit` has said that ddprun ended with that status.
  void expect_status(int job, int status);

  /// How many workers have saved, or heard SIGUSR1.
  [[nodiscard]] int saved() { return count("saved."); }
  [[nodiscard]] int heard() { return count("heard."); }

  /// Processes of agents there, two of each, and of workers with what they have started.
  [[nodiscard]] int agents_on(int node);
  [[nodiscard]] int workers_on(int node);

  /// SIGTERM, as a user on the node may send.
  void end_agent(int node);
  /// Its guard is left, or nothing.
  void kill_agent(int node);
  void kill_agent_and_guard(int node);
  /// All of its processes in the batch script.
  void kill_script_ddprun();

  /// In the folder where the job was submitted.
  [[nodiscard]] Words token_files();

 private:
  enum class Who { agent, script };
  [[nodiscard]] int count(const std::string& prefix);
  void kill_those(int node, Who who);
  /// The outer one of the agent's two processes; waits for both.
  [[nodiscard]] int guard_on(int node);

  SlurmCluster slurm_;
  std::string worker_;
};

}  // namespace slurm
