#include "launcher/commands/dry_run.hpp"

#include "launcher/allocation/hostlist.hpp"
#include "launcher/options/option_table.hpp"
#include "launcher/text/text_of_count.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddprun {
namespace {

/// The first generation as it would be, except for the port, which the kernel chooses at the start;
/// with many nodes as if all had joined with as many workers as this one.
Part first_part(const Job& job) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  Part part;
  part.number = GenerationNumber{1};
  part.group_world_size = rendezvous.gathering.nodes_max;
  part.worker_count = job.options.worker_count;
  part.world_size = part.worker_count * part.group_world_size;
  part.master_address = "127.0.0.1";
  if (!rendezvous.has_many_nodes()) return part;
  const bool is_head = job.meeting.plan.is_head;
  part.group_rank = rendezvous.node_rank.value_or(NodeId{is_head ? 0 : 1}).value;
  part.first_rank = Rank{part.group_rank * part.worker_count};
  part.master_address = is_head ? job.meeting.plan.own_address : rendezvous.endpoint->host;
  return part;
}

/// Where the nodes meet, empty if there is one only.
std::string meeting_text(const Job& job) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  if (!rendezvous.has_many_nodes()) return {};
  if (job.options.starts_agents()) {
    return fmt::format("\nAgents are started by srun on {}. Ranks are shown as if each had {}.\n",
                       fold_hosts(job.options.allocation->nodes),
                       text_of_count(job.options.worker_count, "worker"));
  }
  return fmt::format(
      "\nThe nodes of job {} meet at {}, {}. Ranks are shown as if all {} had joined, each with "
      "{}.\n",
      job.setup.job_id,
      text_of(*rendezvous.endpoint),
      job.meeting.plan.is_head ? "which is this node" : "which is another node",
      rendezvous.gathering.nodes_max,
      text_of_count(job.options.worker_count, "worker"));
}

/// The Slurm job, if there is one.
std::string situation_text(const Options& options) {
  if (!options.allocation) return {};
  return fmt::format("\nThis is the {}.\n", options.allocation->text());
}

std::string device_of(const Environment& variables) {
  const auto device = find_variable(variables, "DDPRUN_DEVICE");
  return device ? "gpu " + *device : "cpu";
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

  const Part part = first_part(job);
  text += situation_text(job.options);
  text += meeting_text(job);
  text += fmt::format(
      "\n{:>4}  {:<16} {:<8} {:<8} {}\n", "RANK", "NODE", "DEVICE", "THREADS", "COMMAND");
  std::string variables_text;
  for (const WorkerPlace& place : places_in(part)) {
    Environment variables = worker_environment(job.setup, part, place);
    variables["MASTER_PORT"] = "(chosen at the start)";
    text += fmt::format("{:>4}  {:<16} {:<8} {:<8} {}\n",
                        place.rank.value,
                        job.setup.host,
                        device_of(variables),
                        variables.at("OMP_NUM_THREADS"),
                        fmt::join(command_for(job.command, job.setup, place).arguments, " "));
    variables_text += fmt::format("\nEnvironment of rank {}:\n", place.rank.value);
    for (const auto& [name, value] : variables) {
      const auto inherited = job.setup.inherited.find(name);
      const bool changed = inherited == job.setup.inherited.end() || inherited->second != value;
      if (changed || job.options.environment.contains(name) ||
          job.options.gpus.changes.contains(name)) {
        variables_text += fmt::format("  {}={}\n", name, value);
      }
    }
  }
  for (const std::string& note : job.notes) text += fmt::format("\nNote: {}.\n", note);
  return text + variables_text;
}

}  // namespace ddprun
