#include "launcher/commands/coordinator_command.hpp"

#include "launcher/meeting/token_rule.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddprun {
namespace {

/// Those of a job without a program, on a node without workers.
Options read_options(Source command_line, Environment environment) {
  environment.erase("SLURM_JOB_ID");  // the allocation does not matter here
  if (!command_line.program.value.empty()) {
    throw Failure(Error(ExitStatus::usage,
                        fmt::format("ddprun coordinator starts no program such as '{}'",
                                    command_line.program.value),
                        "",
                        "start it by ddprun on the nodes that run workers"));
  }
  command_line.program = {"none", "ddprun coordinator"};
  command_line.settings["nproc-per-node"] = {"1", "ddprun coordinator"};  // it need not have GPUs
  Options options = assemble_options(command_line, environment, {}).value();
  if (!options.rendezvous.has_many_nodes()) {
    throw Failure(Error(ExitStatus::usage,
                        "ddprun coordinator is for jobs of many nodes",
                        "",
                        "add --nnodes MIN:MAX and --rdzv-endpoint HOST:PORT"));
  }
  options.output.log_dir.clear();
  options.snapshot.clear();
  options.claim_dir.clear();
  options.rendezvous.is_host = true;
  return options;
}

}  // namespace

Job coordinator_job(Source command_line, const std::string& host) {
  const Environment environment = current_environment();
  Job job;
  job.witness = true;
  job.options = read_options(std::move(command_line), environment);
  job.meeting = prepare_meeting(job.options.rendezvous, environment, host).value();
  if (!job.meeting.credentials.authenticated) {
    check_missing_token(job.options, environment, job.meeting.plan.listen_address).value();
  }
  job.setup.host = host;
  job.setup.job_id = job.meeting.credentials.job_id;
  return job;
}

}  // namespace ddprun
