#include "launcher/commands/script_job.hpp"

#include "launcher/allocation/step_gpus.hpp"
#include "launcher/meeting/token.hpp"
#include "rendezvous/ip_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

std::string find_srun(const Allocation& allocation, const Environment& environment) {
  const std::string srun = find_on_path("srun", environment);
  if (!srun.empty()) return srun;
  throw Failure(Error(ExitStatus::system_refused,
                      fmt::format("cannot start agents on the nodes of Slurm job {}: srun not "
                                  "found on PATH",
                                  allocation.job_id),
                      "",
                      "add Slurm's bin directory to PATH, or write --standalone to run on "
                      "this node alone"));
}

std::string own_path() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return path.string();
  throw Failure(Error(ExitStatus::system_refused,
                      "cannot tell where ddprun itself is",
                      error.message(),
                      "/proc must be mounted"));
}

/// Agents do not ask for the address of a name that means this host only.
void leave_loopback(Meeting& meeting) {
  RendezvousPlan& plan = meeting.plan;
  const std::string address = first_address(meeting.interfaces);
  if (is_loopback(plan.own_address) && !address.empty()) {
    plan.own_address = plan.listen_address = address;
  }
}

/// Agents are called by another name than this process, so they are told what follows from it: that
/// the program is Python's, and whose.
void agents_run_python(const Options& options, const Environment& environment, AgentSteps& steps) {
  if (!options.module) steps.command_line.settings["run-path"] = {"true", options.called_as};
  const std::string python = python_beside(options.called_as, environment);
  if (!python.empty()) steps.environment.emplace("PYTHON_EXEC", python);  // unless it is set
}

}  // namespace

Job script_job(const Source& command_line,
               Options options,
               const Environment& environment,
               const std::string& host,
               TokenFile& token_file) {
  const Allocation allocation = *options.allocation;
  AgentSteps steps;
  steps.srun = find_srun(allocation, environment);
  steps.ddprun = own_path();
  steps.command_line = command_line;
  steps.nodes = allocation.nodes;
  steps.gpus = gpus_of_steps(environment, allocation.nodes.size()).value();
  steps.nodes_min = options.rendezvous.gathering.nodes_min;
  steps.nodes_max = options.rendezvous.gathering.nodes_max;
  steps.join_timeout = options.rendezvous.gathering.join_timeout;
  steps.saving_signals = options.stop.saving_signals;
  steps.nodes.resize(std::min(steps.nodes.size(), static_cast<std::size_t>(steps.nodes_max)));
  options.rendezvous.gathering.hosts = steps.nodes;

  Environment known = environment;
  if (!has_token(environment)) {
    token_file = make_token_file(token_path(options)).value();
    known["DDPRUN_TOKEN_FILE"] = token_file.path();
  }
  Job job;
  job.witness = true;
  if (allocation.own_node.empty()) options.rendezvous.endpoint->host = host;
  options.rendezvous.node_rank.reset();
  job.meeting = prepare_meeting(options.rendezvous, known, host).value();
  leave_loopback(job.meeting);
  job.setup.host = host;
  job.setup.job_id = steps.job_id = job.meeting.credentials.job_id;
  steps.environment = srun_environment(environment, token_file.path());
  if (options.runs_python()) agents_run_python(options, environment, steps);
  job.steps = std::move(steps);
  job.slurm = slurm_control(allocation, environment);

  options.anchored = true;
  options.output.log_dir.clear();
  options.snapshot.clear();
  options.claim_dir.clear();
  job.options = std::move(options);
  return job;
}

/// The address is the script's, even if the environment or the job file gives one.
void be_anchored(Options& options) {
  options.anchored = true;
  options.rendezvous.is_host = false;
  options.rendezvous.advertise.clear();
  options.claim_dir.clear();
}

}  // namespace ddprun
