#include "launcher/options.hpp"

#include "launcher/job_file.hpp"
#include "launcher/nearest.hpp"
#include "launcher/option_table.hpp"

#include <fmt/format.h>

namespace ddprun {
namespace {

/// `--grace: 'soon' from DDPRUN_GRACE <why>; <fix>`.
Error refused(const char* name, const Setting& setting, std::string why, std::string fix) {
  return {ExitStatus::usage,
          fmt::format("--{}: '{}' from {} {}", name, setting.value, setting.origin, why),
          "",
          std::move(fix)};
}

Result<int> read_worker_count(const Setting& setting, const NodeResources& resources) {
  constexpr const char* name = "nproc-per-node";
  const std::string& value = setting.value;
  if (value == "cpu") return resources.core_count;
  if (value == "gpu" && resources.gpu_count > 0) return resources.gpu_count;
  if (value == "gpu") {
    return refused(name,
                   setting,
                   "finds no GPU on this node",
                   "check nvidia-smi and CUDA_VISIBLE_DEVICES, or write a number, 'cpu' or 'auto'");
  }
  if (value == "auto") {
    return resources.gpu_count > 0 ? resources.gpu_count : resources.core_count;
  }
  const auto count = parse_count(value);
  if (!count) {
    return refused(
        name,
        setting,
        "is no number of workers",
        did_you_mean(value, {"gpu", "cpu", "auto"}, "write a number, 'gpu', 'cpu' or 'auto'"));
  }
  if (*count < 1 || *count > workers_per_node_max) {
    return refused(
        name, setting, "is out of range", fmt::format("write 1 to {}", workers_per_node_max));
  }
  return static_cast<int>(*count);
}

Result<int> read_restarts_max(const Setting& setting) {
  constexpr std::int64_t restarts_limit = 1'000'000;
  const auto count = parse_count(setting.value);
  if (!count || *count > restarts_limit) {
    return refused("max-restarts",
                   setting,
                   "is no number of restarts",
                   fmt::format("write 0 to {}", restarts_limit));
  }
  return static_cast<int>(*count);
}

Result<Millis> read_duration(const char* name, const Setting& setting) {
  const auto duration = parse_duration(setting.value);
  if (!duration) return refused(name, setting, "is no time", "write 250ms, 5s, 2m or 1h");
  return *duration;
}

Result<RankSet> read_ranks(const char* name, const Setting& setting) {
  auto ranks = RankSet::parse(setting.value);
  if (!ranks) {
    return refused(
        name,
        setting,
        "is no set of ranks",
        did_you_mean(setting.value, {"all", "none"}, "write all, none, or ranks as 0,2-5"));
  }
  return *std::move(ranks);
}

Result<bool> read_flag(const char* name, const Setting& setting) {
  if (setting.value == "true") return true;
  if (setting.value == "false" || setting.value.empty()) return false;
  return refused(name, setting, "is neither true nor false", "write 1 or 0");
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

/// Turns the texts in `options.effective` into values.
Result<void> interpret(const NodeResources& resources, Options& options) {
  const Settings& all = options.effective;
  const auto worker_count = read_worker_count(all.at("nproc-per-node"), resources);
  if (!worker_count) return worker_count.error();
  options.worker_count = *worker_count;
  const auto restarts_max = read_restarts_max(all.at("max-restarts"));
  if (!restarts_max) return restarts_max.error();
  options.restarts_max = *restarts_max;
  const auto grace = read_duration("grace", all.at("grace"));
  if (!grace) return grace.error();
  options.grace = *grace;
  const auto restart_grace = read_duration("restart-grace", all.at("restart-grace"));
  if (!restart_grace) return restart_grace.error();
  options.restart_grace = *restart_grace;
  auto console = read_ranks("console", all.at("console"));
  if (!console) return console.error();
  options.console = *std::move(console);
  for (const auto& [name, target] : {std::pair{"module", &options.module},
                                     std::pair{"no-python", &options.no_python},
                                     std::pair{"dry-run", &options.dry_run}}) {
    const auto on = read_flag(name, all.at(name));
    if (!on) return on.error();
    *target = *on;
  }
  if (const auto on = read_flag("standalone", all.at("standalone")); !on) return on.error();
  options.snapshot = all.at("snapshot").value;
  options.log_dir = all.at("log-dir").value;
  if (options.module && options.no_python) {
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

Result<Options> assemble_options(const Source& command_line,
                                 const Environment& environment,
                                 const NodeResources& resources) {
  const Result<Settings> variables = settings_in(environment);
  if (!variables) return variables.error();
  Settings given = *variables;
  overlay(given, command_line.settings);

  Source job;
  if (const auto file = given.find("file"); file != given.end()) {
    Result<Source> read = read_job_file(file->second.value, environment);
    if (!read) return read.error();
    job = *std::move(read);
  }
  Options options;
  options.effective = defaults();
  overlay(options.effective, job.settings);
  overlay(options.effective, given);
  if (auto interpreted = interpret(resources, options); !interpreted) return interpreted.error();

  const bool named_on_command_line = !command_line.program.value.empty();
  options.program = named_on_command_line ? command_line.program : job.program;
  options.arguments = named_on_command_line || !command_line.arguments.empty()
                          ? command_line.arguments
                          : job.arguments;
  options.environment = std::move(job.environment);
  if (options.program.value.empty()) {
    return Error(
        ExitStatus::usage,
        "no program to run",
        "",
        "write ddprun [options] PROGRAM [ARGS...], or name it in the job file given by -f");
  }
  return options;
}

}  // namespace ddprun
