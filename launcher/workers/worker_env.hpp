// A worker's environment, from its place: torchrun's variables, exactly, and ddprun's own. Pure.
#pragma once

#include "launcher/devices/core_set.hpp"
#include "launcher/text/environment.hpp"
#include "launcher/workers/rank_map.hpp"
#include "rendezvous/generations/generation.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// What is the same for all workers of a job on one node.
struct WorkerSetup {
  Environment inherited;  ///< The launcher's own, overlaid with the job file's `env`.
  std::string job_id;
  std::string role = "default";  ///< ROLE_NAME.
  std::string host;              ///< This node's name.
  std::string interface;         ///< The network interface that leads to the store; empty: unknown.
  std::string snapshot;          ///< Empty: none was named.
  std::string log_dir;           ///< Empty: no log files.
  std::string error_folder;      ///< For error files where there is no log_dir; gone with the job.
  int restarts_max = 0;
  int core_count = 1;               ///< Usable on this node.
  std::vector<CoreSet> cores;       ///< Of each worker, by its number here; empty: not bound.
  std::vector<int> threads;         ///< That they can run at once, likewise.
  int gpu_count = 0;                ///< Visible on this node.
  int workers_before = 0;           ///< On this node, of other agents, with lower local ranks.
  int workers_beside = 0;           ///< On this node, of all other agents.
  bool virtual_local_rank = false;  ///< Each worker sees one GPU, as device 0, and LOCAL_RANK 0.
};

/// The macros of torchrun's templates and arguments: local_rank, rank, role_name and hostname.
[[nodiscard]] std::map<std::string, std::string> macros_of(const WorkerSetup& setup,
                                                           const WorkerPlace& place);

/// OMP_NUM_THREADS for that one of `worker_count` workers: the user's, or its share of the cores,
/// at least 1.
[[nodiscard]] std::string threads_of_worker(const WorkerSetup& setup,
                                            LocalRank local_rank,
                                            int worker_count);

/// "OMP_NUM_THREADS=4 each of 8 cores", or "2-4 each" where they differ, told at each start.
[[nodiscard]] std::string threads_text(const WorkerSetup& setup, int worker_count);

/// The GPU that a worker is told, by its number here; nothing if none is visible.
[[nodiscard]] std::optional<int> gpu_of(const WorkerSetup& setup, LocalRank local_rank);

/// DIR/<job>/<generation>, where the files of one generation are; empty without a log folder.
[[nodiscard]] std::string log_folder(const WorkerSetup& setup, const Part& part);

/// DIR/<job>/<generation>/<rank>, to which ".out" and ".err" are appended; empty
/// likewise.
[[nodiscard]] std::string log_path(const WorkerSetup& setup, const Part& part, Rank rank);

/// DIR/<job>/<generation>/<NAME>.<node>.log: the lines of all of the node's workers that a filter
/// keeps; empty likewise.
[[nodiscard]] std::string filtered_path(const WorkerSetup& setup,
                                        const Part& part,
                                        std::string_view name);

/// Where the worker may leave a report of its own failure (TORCHELASTIC_ERROR_FILE):
/// DIR/<job>/<generation>/<rank>.error.json, or a file in the folder for error files; empty without
/// either.
[[nodiscard]] std::string error_file_path(const WorkerSetup& setup, const Part& part, Rank rank);

/// The environment of the worker at `place`, but for DDPRUN_CONTROL_FD, whose value only its start
/// has. Values that the user has set are kept for variables that are defaults (OMP_NUM_THREADS, the
/// …_SOCKET_IFNAMEs), and replaced for those that identify a worker.
[[nodiscard]] Environment worker_environment(const WorkerSetup& setup,
                                             const Part& part,
                                             const WorkerPlace& place);

}  // namespace ddprun
