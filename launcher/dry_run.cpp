#include "launcher/dry_run.hpp"

#include "launcher/option_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddprun {
namespace {

/// The first generation as it would be, but for the port, which the kernel chooses at the start.
Generation first_generation(const Job& job) {
  Generation generation;
  generation.number = GenerationNumber{1};
  Member member;
  member.offer.host = job.setup.host;
  member.offer.address = "127.0.0.1";
  member.offer.worker_count = job.options.worker_count;
  generation.members.push_back(member);
  return generation;
}

std::string device_of(const Environment& variables) {
  const auto device = variables.find("DDPRUN_DEVICE");
  return device == variables.end() ? "cpu" : "gpu " + device->second;
}

}  // namespace

std::string dry_run_text(const Job& job) {
  std::string text = fmt::format("{:<16} {:<24} {}\n", "OPTION", "VALUE", "FROM");
  for (const OptionSpec& option : option_table()) {
    if (option.command_only) continue;
    const Setting& setting = job.options.effective.at(std::string(option.name));
    const std::string value = option.is_flag() && setting.value.empty() ? "false" : setting.value;
    text +=
        fmt::format("{:<16} {:<24} {}\n", option.name, value.empty() ? "-" : value, setting.origin);
  }
  text += fmt::format(
      "{:<16} {:<24} {}\n", "program", job.options.program.value, job.options.program.origin);
  for (const auto& [name, setting] : job.options.environment) {
    text += fmt::format("{:<16} {:<24} {}\n", "env " + name, setting.value, setting.origin);
  }

  const Generation generation = first_generation(job);
  text += fmt::format(
      "\n{:>4}  {:<16} {:<8} {:<8} {}\n", "RANK", "NODE", "DEVICE", "THREADS", "COMMAND");
  std::string variables_text;
  for (const WorkerPlace& place : places_on(generation, NodeId{})) {
    Environment variables = worker_environment(job.setup, generation, place);
    variables["MASTER_PORT"] = "(chosen at the start)";
    text += fmt::format("{:>4}  {:<16} {:<8} {:<8} {}\n",
                        place.rank.value,
                        job.setup.host,
                        device_of(variables),
                        variables.at("OMP_NUM_THREADS"),
                        fmt::join(command_for(job.command, place).arguments, " "));
    variables_text += fmt::format("\nEnvironment of rank {}:\n", place.rank.value);
    for (const auto& [name, value] : variables) {
      const auto inherited = job.setup.inherited.find(name);
      const bool changed = inherited == job.setup.inherited.end() || inherited->second != value;
      if (changed || job.options.environment.contains(name)) {
        variables_text += fmt::format("  {}={}\n", name, value);
      }
    }
  }
  return text + variables_text;
}

}  // namespace ddprun
