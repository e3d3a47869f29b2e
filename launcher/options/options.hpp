// Combines all sources of a job's options into checked values, each with its origin.
#pragma once

#include "launcher/allocation/allocation.hpp"
#include "launcher/devices/binding.hpp"
#include "launcher/devices/gpus.hpp"
#include "launcher/options/output_options.hpp"
#include "launcher/options/rendezvous_options.hpp"
#include "launcher/options/stop_options.hpp"
#include "launcher/text/environment.hpp"
#include "launcher/text/settings.hpp"
#include "launcher/text/values.hpp"
#include "rendezvous/generations/restart_policy.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddprun {

/// More workers on one node than this are a typing error.
constexpr int workers_per_node_max = 1024;

/// What this node has, for `gpu`, `cpu` and `auto`.
struct NodeResources {
  int core_count = 1;  ///< That its processes can use at once: a quota may leave them fewer.
  NodeGpus gpus;
};

/// `none`: the job runs.
enum class DryRunFormat : std::uint8_t { none, text, json };

struct Options {
  int worker_count = 1;  ///< On this node.
  GpuView gpus;
  BindOptions binding;
  RestartOptions restarts;
  StopOptions stop;
  Millis restart_grace;
  std::optional<Millis> hang_timeout;  ///< Nothing: workers may be silent for ever.
  RendezvousOptions rendezvous;
  std::optional<Allocation> allocation;  ///< That says what nodes there are, unless it was said.
  bool anchored = false;                 ///< The job lives as long as the script that started it.
  std::string snapshot;                  ///< Empty: not given.
  std::string claim_dir;                 ///< Empty: nodes vote.
  std::string events;                    ///< A file for each event; empty: none.
  std::string report;                    ///< A file for the job's end; empty: none.
  OutputOptions output;
  std::optional<Rank> debug_rank;   ///< Whose the terminal is.
  std::optional<Rank> stdin_rank;   ///< Whose the standard input is, unless it is a terminal.
  std::string role;                 ///< Of the workers: a name.
  bool virtual_local_rank = false;  ///< Each worker is to see one GPU, as the first one.
  bool module = false;
  bool no_python = false;
  bool run_path = false;  ///< The program is a file for Python, whatever its name.
  std::string called_as;  ///< By which name or path this program was called.
  DryRunFormat dry_run = DryRunFormat::none;
  Setting program;
  std::vector<std::string> arguments;
  std::map<std::string, Setting> environment;  ///< For the workers, from the job file.
  Settings effective;                          ///< Each option's value and origin, for the dry run.

  /// Whether Python runs the program: a module, a .py file, or, called by torchrun's name, anything
  /// that it is not told to execute.
  [[nodiscard]] bool runs_python() const;
  [[nodiscard]] bool is_dry_run() const { return dry_run != DryRunFormat::none; }
  /// Whether no folder for files is named, so that the start makes a new one: one that stays if
  /// output goes to files, else one for error files.
  [[nodiscard]] bool makes_folder() const;
  /// Whether this is a script, which has agents started on the nodes of its allocation.
  [[nodiscard]] bool starts_agents() const {
    return allocation && allocation->situation == Situation::script && !allocation->is_alone();
  }
  /// Whether this is one of several tasks of a step, each of which is an agent.
  [[nodiscard]] bool is_task_of_many() const {
    return allocation && allocation->situation == Situation::task && !allocation->is_alone();
  }
};

/// Puts the sources together by precedence: command line, environment, job file (read here if one
/// is named), Slurm's allocation, defaults. The first value that makes no sense is the error.
[[nodiscard]] Result<Options> assemble_options(const Source& command_line,
                                               const Environment& environment,
                                               const NodeResources& resources);

}  // namespace ddprun
