// A job of two workers whose dry run tests look at.
#pragma once

#include "launcher/commands/dry_run.hpp"

namespace ddprun {

/// What `ddprun` was started in there.
inline Environment environment_of_user() {
  return {{"PATH", "/bin"}, {"LOCAL_RANK", "0"}, {"DDPRUN_TOKEN", "secret"}};
}

inline Job job_of_two() {
  Source line;
  line.program = {"./train", "the command line"};
  line.settings["nproc-per-node"] = {"2", "the command line"};
  Job made;
  made.options = assemble_options(line, {{"DDPRUN_GRACE", "3s"}}, {8, {{"GPU-a"}}}).value();
  made.options.environment["NCCL_DEBUG"] = {"WARN", "job.yaml:3:8"};
  made.command = {"./train", {"./train", "--rank=${rank}"}};
  made.setup.inherited = {{"PATH", "/bin"}, {"NCCL_DEBUG", "WARN"}, {"LOCAL_RANK", "0"}};
  made.setup.job_id = "job7";
  made.setup.host = "n0";
  made.meeting.plan.own_address = "127.0.0.1";
  made.setup.interface = "lo";
  made.setup.core_count = 8;
  made.setup.gpu_count = 1;
  return made;
}

/// `ddprun coordinator` for 2 to 4 nodes.
inline Job coordinator_of_four() {
  Job made;
  made.witness = true;
  made.options = job_of_two().options;
  made.options.effective.at("nnodes") = {"2:4", "the command line"};
  made.options.rendezvous.gathering.nodes_min = 2;
  made.options.rendezvous.gathering.nodes_max = 4;
  made.options.rendezvous.endpoint = Endpoint{"n0", 29'400};
  made.setup.job_id = "job7";
  made.setup.host = "n0";
  return made;
}

}  // namespace ddprun
