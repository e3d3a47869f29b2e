#include "launcher/commands/dry_run.hpp"

#include "launcher/allocation/hostlist.hpp"
#include "launcher/options/option_table.hpp"
#include "launcher/text/text_of_count.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddprun {
namespace {

/// Except for the port, which the kernel chooses at the start unless it is given.
Part first_part(const Job& job) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  Part part;
  part.number = GenerationNumber{1};
  part.group_world_size = rendezvous.gathering.nodes_max;
  part.worker_count = job.options.worker_count;
  part.world_size = part.worker_count * part.group_world_size;
  part.master_address = job.meeting.plan.own_address;
  if (!rendezvous.has_many_nodes()) {
    if (rendezvous.store) part.master_port = rendezvous.store->port;
    return part;
  }
  const bool is_head = job.meeting.plan.is_head;
  part.group_rank = rendezvous.node_rank.value_or(NodeId{is_head ? 0 : 1}).value;
  part.first_rank = Rank{part.group_rank * part.worker_count};
  part.master_address = is_head ? job.meeting.plan.own_address : rendezvous.endpoint->host;
  return part;
}

/// Whether all places are taken by the nodes before this one.
bool is_spare(const Part& part) {
  return part.group_rank >= part.group_world_size;
}

/// Of a process without workers, which coordinates the others.
std::string coordination_text(const Job& job) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  const GatheringOptions& nodes = rendezvous.gathering;
  const Endpoint& endpoint = *rendezvous.endpoint;
  const std::string place = endpoint.port == 0
                                ? fmt::format("{}, at any port that is free,", endpoint.host)
                                : text_of(endpoint);
  const std::string range =
      nodes.nodes_min == nodes.nodes_max ? "" : fmt::format("{} to ", nodes.nodes_min);
  return fmt::format("The coordinator of job {} would listen at {} for {}{}. It starts no workers.",
                     job.setup.job_id,
                     place,
                     range,
                     text_of_count(nodes.nodes_max, "node"));
}

/// Where the nodes meet, empty if there is one only.
std::string meeting_text(const Job& job, const Part& part) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  if (!rendezvous.has_many_nodes()) return {};
  if (job.witness) return coordination_text(job);
  if (job.options.starts_agents()) {
    return fmt::format("Agents are started by srun on {}. Ranks are shown as if each had {}.",
                       fold_hosts(job.options.allocation->nodes),
                       text_of_count(job.options.worker_count, "worker"));
  }
  return fmt::format(
      "The nodes of job {} meet at {}, {}. Ranks are shown as if all {} had joined, each with "
      "{}.{}",
      job.setup.job_id,
      text_of(*rendezvous.endpoint),
      job.meeting.plan.is_head ? "which is this node" : "which is another node",
      rendezvous.gathering.nodes_max,
      text_of_count(job.options.worker_count, "worker"),
      is_spare(part) ? " This node is then a spare, without workers until another one is lost."
                     : "");
}

/// The Slurm job, if there is one.
std::string situation_text(const Options& options) {
  if (!options.allocation) return {};
  return fmt::format("This is the {}.", options.allocation->text());
}

/// Whether there are workers that it can be about.
bool concerns(const Job& job, const OptionSpec& option) {
  const bool is_for_workers =
      option.group == OptionGroup::workers || option.group == OptionGroup::output;
  return !option.command_only && !(job.witness && is_for_workers);
}

void add_options(const Job& job, DryRun& dry_run) {
  for (const OptionSpec& option : option_table()) {
    if (!concerns(job, option)) continue;
    const Setting& setting = job.options.effective.at(std::string(option.name));
    auto& values = setting.origin == "default" ? dry_run.defaults : dry_run.given;
    values.emplace_back(option.name, setting);
  }
}

/// A socket's number and, unless they are given, the port, the id and a new folder for files are
/// others at each start.
std::vector<std::string> chosen_later(const Job& job, const Part& part) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  const bool draws_id = !rendezvous.has_many_nodes() && rendezvous.job_id.empty();
  std::vector<std::string> names{"DDPRUN_CONTROL_FD"};
  if (part.master_port == 0) names.emplace_back("MASTER_PORT");
  if (draws_id) names.insert(names.end(), {"DDPRUN_JOB_ID", "TORCHELASTIC_RUN_ID"});
  const bool is_below_id = draws_id && !job.setup.log_dir.empty();
  if (is_below_id || job.options.makes_folder()) names.emplace_back("TORCHELASTIC_ERROR_FILE");
  return names;
}

/// Whether all have the same value of that variable.
bool is_shared(const std::string& name, const std::vector<Environment>& environments) {
  const auto value = find_variable(environments.front(), name);
  return std::ranges::all_of(
      environments, [&](const Environment& each) { return find_variable(each, name) == value; });
}

/// Splits what the workers find into what all share, beyond what they inherit, and what differs;
/// less what is chosen later.
void split(const Job& job,
           const Environment& own,
           const std::vector<Environment>& environments,
           DryRun& dry_run) {
  for (const auto& [name, value] : environments.front()) {
    if (std::ranges::find(dry_run.chosen_later, name) != dry_run.chosen_later.end()) continue;
    const bool is_inherited = find_variable(own, name) == value;
    if (!is_shared(name, environments)) {
      for (std::size_t i = 0; i < environments.size(); ++i) {
        dry_run.workers[i].variables[name] = environments[i].at(name);
      }
    } else if (!is_inherited || job.options.environment.contains(name) ||
               job.options.gpus.changes.contains(name)) {
      dry_run.shared[name] = value;
    }
  }
  for (const auto& [name, value] : own) {
    if (!environments.front().contains(name)) dry_run.removed.push_back(name);
  }
}

std::string cores_of(const WorkerSetup& setup, LocalRank local_rank) {
  const auto index = static_cast<std::size_t>(local_rank.value);
  return index < setup.cores.size() ? text_of_cores(setup.cores[index]) : std::string();
}

}  // namespace

DryRun plan_dry_run(const Job& job, const Environment& own) {
  DryRun dry_run;
  add_options(job, dry_run);
  dry_run.situation = situation_text(job.options);
  const Part part = first_part(job);
  dry_run.meeting = meeting_text(job, part);
  dry_run.notes = job.notes;
  dry_run.host = job.setup.host;
  if (job.witness) return dry_run;
  dry_run.program = job.options.program;
  dry_run.env = job.options.environment;
  if (is_spare(part)) return dry_run;
  dry_run.chosen_later = chosen_later(job, part);
  std::vector<Environment> environments;
  for (const WorkerPlace& place : places_in(part)) {
    Command command = command_for(job.command, job.setup, place);
    dry_run.workers.push_back({place,
                               {},
                               cores_of(job.setup, place.local_rank),
                               command.executable,
                               std::move(command.arguments)});
    environments.push_back(worker_environment(job.setup, part, place));
  }
  split(job, own, environments, dry_run);
  return dry_run;
}

}  // namespace ddprun
