// What --dry-run shows: every value with its origin, and how each worker would be started. Pure.
#pragma once

#include "launcher/node/job.hpp"

#include <string>
#include <utility>
#include <vector>

namespace ddprun {

struct DryRun {
  struct Worker {
    WorkerPlace place;
    Environment variables;             ///< Those that differ between workers.
    std::string cores;                 ///< "0-3,8" if it is bound to them; empty: it is not.
    std::string executable;            ///< A path.
    std::vector<std::string> command;  ///< argv.
  };
  using Values = std::vector<std::pair<std::string, Setting>>;

  Values given;                           ///< Options, in the table's order.
  Values defaults;                        ///< The other ones; flags and unset ones have no value.
  Setting program;                        ///< As it was written; empty: there are no workers.
  std::map<std::string, Setting> env;     ///< The job file's.
  std::string situation;                  ///< The Slurm job, if there is one.
  std::string meeting;                    ///< Where many nodes meet.
  std::vector<std::string> notes;         ///< Warnings.
  std::string host;                       ///< This node's name.
  std::vector<std::string> removed;       ///< Variables that no worker inherits.
  Environment shared;                     ///< Set for all workers, beyond what they inherit.
  std::vector<std::string> chosen_later;  ///< Variables whose value only a real run has.
  std::vector<Worker> workers;            ///< Of this node; none: it is a spare.
};

/// The first generation as it would be, with many nodes as if all had joined with as many workers
/// as this one; of a coordinator alone what it would coordinate. `own` is the environment that
/// `ddprun` was started in.
[[nodiscard]] DryRun plan_dry_run(const Job& job, const Environment& own);

}  // namespace ddprun
