#include "launcher/commands/run_command.hpp"

#include "launcher/commands/coordinator_command.hpp"
#include "launcher/commands/different_files.hpp"
#include "launcher/commands/dry_run.hpp"
#include "launcher/commands/dry_run_json.hpp"
#include "launcher/commands/dry_run_text.hpp"
#include "launcher/commands/folders.hpp"
#include "launcher/commands/script_job.hpp"
#include "launcher/commands/task_job.hpp"
#include "launcher/commands/worker_cores.hpp"
#include "launcher/devices/cores.hpp"
#include "launcher/devices/cpu_quota.hpp"
#include "launcher/devices/devices.hpp"
#include "launcher/devices/read_topology.hpp"
#include "launcher/guard/guard.hpp"
#include "launcher/meeting/token.hpp"
#include "launcher/meeting/token_rule.hpp"
#include "launcher/node/supervisor.hpp"
#include "launcher/options/torchrun_options.hpp"
#include "launcher/options/variables.hpp"
#include "launcher/processes/process.hpp"
#include "launcher/processes/writer.hpp"
#include "launcher/system/explain.hpp"
#include "launcher/system/heap.hpp"
#include "launcher/system/random_number.hpp"
#include "launcher/system/temporary_folder.hpp"
#include "launcher/workers/placement.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <utility>

namespace ddprun {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  const std::string full(name.data());
  return full.substr(0, full.find('.'));
}

std::string random_job_id() {
  return fmt::format("{:08x}", static_cast<std::uint32_t>(random_number()));
}

/// One worker at a terminal gets the terminal itself, for input and for debuggers.
bool is_only_worker_at_terminal(const Options& options) {
  return options.worker_count == 1 && options.stdin_rank && !options.output.is_special() &&
         options.output.console.contains(Rank{0}) && ::isatty(STDIN_FILENO) == 1 &&
         ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

/// Distinguishes jobs at one endpoint, or of one name.
std::string claims_folder(const Job& job) {
  if (job.options.claim_dir.empty()) return {};
  return fmt::format("{}/.ddprun/{}", absolute(job.options.claim_dir), job.meeting.name);
}

/// The environment that workers inherit.
Environment inherited_by_workers(const Environment& own, const Options& options) {
  Environment all = own;
  for (const auto& [name, setting] : options.environment) all[name] = setting.value;
  for (const auto& [name, value] : options.gpus.changes) {
    if (value) {
      all[name] = *value;
    } else {
      all.erase(name);
    }
  }
  std::erase_if(all, [](const auto& each) { return is_secret_variable(each.first); });
  return all;
}

/// Empty if the user has not said how many workers there are.
std::string idle_gpus_note_of(const Job& job) {
  const Setting& asked = job.options.effective.at("nproc-per-node");
  if (!is_given(asked) || job.options.gpus.is_of_one_task()) return {};
  return idle_gpus_note(job.options.gpus.count,
                        job.options.worker_count + job.setup.workers_beside,
                        fmt::format("{} from {}", asked.value, asked.origin));
}

std::string cores_note_of(const Environment& environment, int core_count, const Job& job) {
  const int worker_count = job.options.worker_count;
  const std::string note = core_note(environment, worker_count, core_count);
  if (!note.empty()) return note;
  return few_cores_note(job.setup.core_count, worker_count, job.options.gpus.count);
}

/// The first of a job's agents prints what is noteworthy about options, GPUs and cores for all.
void note_options(const Environment& environment, int core_count, Job& job) {
  if (job.options.rendezvous.node_rank.value_or(NodeId{0}).value != 0) return;
  for (const std::string& note :
       {needless_note(job.options.effective, job.options.rendezvous.unused_conf),
        job.options.gpus.note,
        cores_note_of(environment, core_count, job),
        idle_gpus_note_of(job),
        placement_text(job.setup, job.options.worker_count)}) {
    if (!note.empty()) job.notes.push_back(note);
  }
}

/// The nodes of Slurm's job, and the token that they share: in `token_file`, and from now on in the
/// environment.
void take_part_in_allocation(Role role, Environment& environment, TokenFile& token_file, Job& job) {
  if (job.options.allocation) job.slurm = slurm_control(*job.options.allocation, environment);
  if (role == Role::anchored_agent) be_anchored(job.options);
  if (job.options.is_task_of_many() && !job.options.is_dry_run()) {
    share_token(job.options, environment, token_file).value();
  }
}

void prepare_to_meet(const Environment& environment, Job& job) {
  if (job.options.rendezvous.has_many_nodes()) {
    job.meeting = prepare_meeting(job.options.rendezvous, environment, job.setup.host).value();
    if (!job.meeting.credentials.authenticated) {
      const std::string& listens = job.meeting.plan.listen_address;
      check_missing_token(job.options, environment, listens).value();
    }
    job.setup.job_id = job.meeting.credentials.job_id;
    job.claims_folder = claims_folder(job);
  } else {
    job.meeting = prepare_alone(job.options.rendezvous).value();
    const std::string& given = job.options.rendezvous.job_id;
    job.setup.job_id = given.empty() ? random_job_id() : given;
  }
}

void set_up_workers(const Environment& environment,
                    const NodeResources& node,
                    const CoreSet& cores,
                    Job& job) {
  job.setup.interface = job.meeting.plan.interface;
  job.setup.snapshot = absolute(job.options.snapshot);
  job.setup.log_dir = job.options.output.log_dir = absolute(job.options.output.log_dir);
  job.setup.role = job.options.role;
  job.setup.virtual_local_rank = job.options.virtual_local_rank;
  job.setup.restarts_max = job.options.restarts.count_max;
  job.setup.core_count = node.core_count;
  job.setup.gpu_count = job.options.gpus.count;
  if (job.options.is_task_of_many()) share_node(environment, cores, job);
  const bool binds = job.options.binding.binding != Binding::none;
  const Topology topology = binds ? read_topology(cores) : Topology();
  give_cores(environment, cores, topology, job).value();
  const int allowed_count = static_cast<int>(cores.size());
  if (node.core_count < allowed_count) limit_threads(job);
  note_options(environment, allowed_count, job);
  job.terminal = {is_only_worker_at_terminal(job.options), job.options.debug_rank};
}

/// With what `token_file` is to be for the others of an allocation.
Job make_job(const Source& command_line, Role role, TokenFile& token_file) {
  if (role == Role::coordinator) return coordinator_job(command_line, host_name());
  Environment environment = current_environment();
  const CoreSet cores = usable_cores();
  const int quota = cores_of_own_quota().value_or(core_number_max);
  const NodeResources node{std::min(static_cast<int>(cores.size()), quota), find_gpus()};

  Job job;
  job.options = assemble_options(command_line, environment, node).value();
  job.setup.inherited = inherited_by_workers(environment, job.options);
  job.command = find_program(job.options, job.setup.inherited).value();
  job.setup.host = host_name();
  if (job.options.starts_agents() && !job.options.is_dry_run()) {
    return script_job(
        command_line, std::move(job.options), environment, job.setup.host, token_file);
  }
  take_part_in_allocation(role, environment, token_file, job);
  prepare_to_meet(environment, job);
  set_up_workers(environment, node, cores, job);
  return job;
}

int run_agent(Job job, GuardLink link) {
  tune_heap(Writer::full_bytes);
  (void)raise_files_max();  // before anything listens, which shares descriptors out
  try {
    return Supervisor(std::move(job), std::move(link)).run();
  } catch (const std::exception& error) {
    return explain(error);
  }
}

/// A job of one node has no lease, and a witness has no workers.
GuardOptions guard_options(const Job& job) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  GuardOptions options;
  options.erases_row = job.manner.redraws;
  if (!rendezvous.has_many_nodes()) return options;
  options.will = LastWill{job.meeting.will, job.meeting.credentials};
  if (job.witness) return options;
  options.fence = FenceOptions{job.options.worker_count, margin_of(rendezvous.times)};
  return options;
}

/// The folder of the workers' files. As in torchrun, files that are asked for without one go to a
/// new folder. Returns the folder that is to go with the job.
TemporaryFolder prepare_output(Job& job) {
  OutputOptions& output = job.options.output;
  if (!output.log_dir.empty()) prepare_log_dir(job.options.effective.at("log-dir")).value();
  if (!job.options.makes_folder() || job.witness) return {};
  if (!output.needs_files(job.options.worker_count)) {
    job.setup.error_folder = new_error_folder(current_environment());
    return TemporaryFolder(job.setup.error_folder);
  }
  job.setup.log_dir = output.log_dir = new_log_dir(current_environment()).value();
  job.notes.push_back(fmt::format("output is kept in {}", output.log_dir));
  return {};
}

/// The other files that the job will write to.
void prepare_files(const Job& job) {
  const Settings& all = job.options.effective;
  check_files_differ(all).value();
  if (!job.options.snapshot.empty()) prepare_snapshot(all.at("snapshot")).value();
  if (!job.options.events.empty()) {
    check_events(all.at("events")).value();
    check_events_are_no_output(all.at("events")).value();
  }
  const bool may_coordinate = job.witness || !job.options.anchored;
  if (!job.options.report.empty() && may_coordinate) {
    prepare_report(all.at("report")).value();
    check_report_is_no_output(all.at("report")).value();
  }
}

}  // namespace

int run_command(const Source& command_line,
                Role role,
                const std::string& version,
                const std::function<int(const std::string&)>& print) {
  TokenFile token_file;
  Job job = make_job(command_line, role, token_file);
  job.version = version;
  job.manner = terminal_manner(current_environment());
  if (job.options.is_dry_run()) {
    const DryRun dry_run = plan_dry_run(job, current_environment());
    const bool for_programs = job.options.dry_run == DryRunFormat::json;
    return print(for_programs ? dry_run_json(dry_run) : dry_run_text(dry_run));
  }
  forget_token_variable();
  prepare_files(job);
  const TemporaryFolder folder = prepare_output(job);  // this process, the guard, ends last
  return run_guarded(guard_options(job),
                     [&](GuardLink link) { return run_agent(std::move(job), std::move(link)); });
}

}  // namespace ddprun
