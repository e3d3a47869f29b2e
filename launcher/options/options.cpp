#include "launcher/options/options.hpp"

#include "launcher/allocation/allocation_settings.hpp"
#include "launcher/options/bind_options.hpp"
#include "launcher/options/job_file.hpp"
#include "launcher/options/option_table.hpp"
#include "launcher/options/read_setting.hpp"
#include "launcher/options/restart_options.hpp"
#include "launcher/options/torchrun_options.hpp"
#include "launcher/options/variables.hpp"
#include "launcher/text/nearest.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

namespace ddprun {
namespace {

Result<int> read_worker_count(const Setting& setting, int core_count, const GpuView& gpus) {
  constexpr const char* name = "nproc-per-node";
  const std::string& value = setting.value;
  if (value == "cpu" || (value == "auto" && gpus.count == 0)) return core_count;
  if (value == "xpu") {
    return refused_setting(name,
                           setting,
                           "cannot be counted: ddprun does not count Intel's GPUs",
                           "write the number of workers");
  }
  if (value == "gpu" || value == "auto") {
    if (!gpus.problem.empty()) {
      return refused_setting(name, setting, "cannot be counted: " + gpus.problem, gpus.remedy);
    }
    if (gpus.count > 0) return gpus.count;
    return refused_setting(
        name,
        setting,
        "finds no GPU on this node",
        "check nvidia-smi and CUDA_VISIBLE_DEVICES, or write a number (for a --dry-run on a "
        "login node: that of its compute nodes), 'cpu' or 'auto'");
  }
  const auto count = parse_count(value);
  if (!count) {
    return refused_setting(
        name,
        setting,
        "is no number of workers",
        did_you_mean(value, {"gpu", "cpu", "auto"}, "write a number, 'gpu', 'cpu' or 'auto'"));
  }
  if (*count < 1 || *count > workers_per_node_max) {
    return refused_setting(
        name, setting, "is out of range", fmt::format("write 1 to {}", workers_per_node_max));
  }
  return static_cast<int>(*count);
}

Settings defaults() {
  Settings settings;
  for (const OptionSpec& option : option_table()) {
    settings[std::string(option.name)] = Setting{std::string(option.fallback), "default"};
  }
  return settings;
}

void overlay(Settings& below, const Settings& above) {
  for (const auto& [name, setting] : above) below[name] = setting;
}

/// Of the workers: the job file may change it.
Environment changed(Environment environment, const std::map<std::string, Setting>& changes) {
  for (const auto& [name, setting] : changes) environment[name] = setting.value;
  return environment;
}

/// What the workers run. After "--" there are only arguments if the job file has a program.
void choose_program(const Source& command_line, const Source& job, Options& options) {
  options.program = command_line.program;
  options.arguments = command_line.arguments;
  if (command_line.program.value.empty()) {
    options.program = job.program;
    options.arguments = job.arguments;
  } else if (command_line.after_dashes && !job.program.value.empty()) {
    options.program = job.program;
    options.arguments.insert(options.arguments.begin(), command_line.program.value);
  }
}

/// Beside the snapshot unless it was given, since nodes share that folder.
std::string claim_dir(const Settings& all) {
  const std::string& given = all.at("claim-dir").value;
  if (given == "none") return {};
  if (!given.empty()) return given;
  const std::string& snapshot = all.at("snapshot").value;
  if (snapshot.empty()) return {};
  const std::string folder = std::filesystem::path(snapshot).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Several tasks on a node share it: each has one worker.
Result<void> check_tasks(const Settings& all, const Options& options) {
  const bool several = options.allocation && options.allocation->tasks_per_node_max > 1;
  if (!several || options.worker_count == 1) return {};
  return refused_setting("nproc-per-node",
                         all.at("nproc-per-node"),
                         fmt::format("is more than one worker, but this Slurm step has {} tasks on "
                                     "a node, with one worker each",
                                     options.allocation->tasks_per_node_max),
                         "write srun --ntasks-per-node=1, or leave --nproc-per-node out");
}

/// Nothing for "none".
Result<std::optional<Rank>> read_rank(const char* name, const Setting& setting) {
  if (setting.value == "none") return std::optional<Rank>();
  const auto rank = parse_count(setting.value);
  if (!rank || *rank > workers_per_node_max * std::int64_t{nodes_limit}) {
    return refused_setting(
        name, setting, "is no rank", did_you_mean(setting.value, {"none"}, "write 0, or none"));
  }
  return std::optional<Rank>(Rank{static_cast<int>(*rank)});
}

/// Whose standard input and terminal ddprun's are.
Result<void> read_ranks_of_input(const Settings& all, Options& options) {
  for (const auto& [name, target] :
       {std::pair{"stdin", &options.stdin_rank}, std::pair{"debug-rank", &options.debug_rank}}) {
    auto rank = read_rank(name, all.at(name));
    if (!rank) return rank.error();
    *target = *rank;
  }
  return {};
}

/// One node alone has the ranks of its own workers. torchrun accepts others for its options.
Result<void> check_ranks(const Settings& all, const Options& options) {
  if (options.rendezvous.has_many_nodes()) return {};
  using Named = std::pair<const char*, std::int64_t>;
  for (const auto& [name, rank] :
       {Named{"console", options.output.console.last_begin()},
        Named{"stdin", options.stdin_rank.value_or(Rank{0}).value},
        Named{"debug-rank", options.debug_rank.value_or(Rank{0}).value}}) {
    if (rank < options.worker_count) continue;
    return refused_setting(name,
                           all.at(name),
                           "names a rank that no worker has",
                           fmt::format("write ranks from 0 to {}", options.worker_count - 1));
  }
  return {};
}

/// Turns the texts in `options.effective` into values.
Result<void> interpret(int core_count, Options& options) {
  const Settings& all = options.effective;
  const Setting& asked = all.at("nproc-per-node");
  const auto worker_count = read_worker_count(asked, core_count, options.gpus);
  const bool is_counted_elsewhere =  // by the agents of the other nodes
      options.starts_agents() && (asked.value == "gpu" || asked.value == "auto");
  if (!worker_count && !is_counted_elsewhere) return worker_count.error();
  options.worker_count = worker_count.has_value() ? *worker_count : 1;
  auto binding = read_bind_options(all);
  if (!binding) return binding.error();
  options.binding = *std::move(binding);
  const auto restarts = read_restart_options(all);
  if (!restarts) return restarts.error();
  options.restarts = *restarts;
  auto stop = read_stop_options(all);
  if (!stop) return stop.error();
  options.stop = *std::move(stop);
  const auto restart_grace = read_duration("restart-grace", all.at("restart-grace"));
  if (!restart_grace) return restart_grace.error();
  options.restart_grace = *restart_grace;
  const auto hang_timeout = read_hang_timeout(all);
  if (!hang_timeout) return hang_timeout.error();
  options.hang_timeout = *hang_timeout;
  auto output = read_output_options(all);
  if (!output) return output.error();
  options.output = *std::move(output);
  for (const auto& [name, target] :
       {std::pair{"module", &options.module},
        std::pair{"no-python", &options.no_python},
        std::pair{"run-path", &options.run_path},
        std::pair{"virtual-local-rank", &options.virtual_local_rank}}) {
    const auto on = read_flag(name, all.at(name));
    if (!on) return on.error();
    *target = *on;
  }
  if (const std::string& dry_run = all.at("dry-run").value; !dry_run.empty()) {
    options.dry_run = dry_run == "json" ? DryRunFormat::json : DryRunFormat::text;
  }
  if (const auto on = read_flag("standalone", all.at("standalone")); !on) return on.error();
  auto rendezvous = read_rendezvous_options(all);
  if (!rendezvous) return rendezvous.error();
  options.rendezvous = *std::move(rendezvous);
  if (auto right = check_tasks(all, options); !right) return right.error();
  if (auto right = read_ranks_of_input(all, options); !right) return right.error();
  if (auto right = check_ranks(all, options); !right) return right.error();
  if (auto right = check_torchrun_options(all); !right) return right.error();
  if (options.allocation && options.allocation->situation == Situation::script) {
    options.rendezvous.is_host = true;
    if (options.rendezvous.endpoint) options.rendezvous.endpoint->port = 0;  // any that is free
  }
  options.snapshot = all.at("snapshot").value;
  options.claim_dir = claim_dir(all);
  options.events = all.at("events").value;
  options.report = all.at("report").value;
  options.role = all.at("role").value;
  if (options.module && options.no_python && !options.run_path) {
    return Error(ExitStatus::usage,
                 "--module and --no-python contradict each other",
                 fmt::format("the first is from {}, the second from {}",
                             all.at("module").origin,
                             all.at("no-python").origin),
                 "keep one of them");
  }
  return {};
}

}  // namespace

bool Options::runs_python() const {
  if (run_path || module) return true;
  if (no_python) return false;
  return program.value.ends_with(".py") || is_torchrun(called_as);
}

bool Options::makes_folder() const {
  return output.log_dir.empty() && !is_given(effective.at("log-dir"));
}

Result<Options> assemble_options(const Source& command_line,
                                 const Environment& environment,
                                 const NodeResources& resources) {
  const Result<Settings> variables = settings_in(environment);
  if (!variables) return variables.error();
  Settings given = *variables;
  overlay(given, command_line.settings);

  Source job;
  const Setting profile = given.contains("profile") ? given.at("profile") : Setting{};
  if (const auto file = given.find("file"); file != given.end()) {
    Result<Source> read = read_job_file(file->second.value, environment, profile);
    if (!read) return read.error();
    job = *std::move(read);
  } else if (!profile.value.empty()) {
    return refused_setting(
        "profile", profile, "needs a job file", "name the file by -f, or leave the profile out");
  }
  Options options;
  options.effective = defaults();
  overlay(options.effective, job.settings);
  overlay(options.effective, given);
  auto allocation = apply_allocation(environment, options.effective);
  if (!allocation) return allocation.error();
  options.allocation = *std::move(allocation);
  options.gpus = view_gpus(resources.gpus, changed(environment, job.environment));
  auto interpreted = interpret(resources.core_count, options);
  if (!interpreted) return interpreted.error();
  choose_program(command_line, job, options);
  options.environment = std::move(job.environment);
  options.called_as = command_line.called_as;
  if (options.program.value.empty()) {
    const char* const line = is_torchrun(options.called_as) ? "torchrun [options] PROGRAM.py"
                                                            : "ddprun [options] PROGRAM";
    return Error(ExitStatus::usage,
                 "no program to run",
                 "",
                 fmt::format("write {} [ARGS...], or name it in the job file given by -f", line));
  }
  return options;
}

}  // namespace ddprun
