#include "launcher/commands/task_job.hpp"

#include "launcher/devices/cores.hpp"
#include "launcher/meeting/token.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace ddprun {

Result<void> share_token(const Options& options, Environment& environment, TokenFile& token_file) {
  if (has_token(environment)) return {};
  constexpr Millis patience{60'000};  // as long as NFS may believe that a file is not there
  const std::string path = token_path(options);
  if (options.allocation->task == 0) {
    auto made = make_token_file(path);
    if (!made) return made.error();
    token_file = *std::move(made);
  } else if (auto seen = wait_for_token_file(path, patience); !seen) {
    return seen.error();
  }
  environment["DDPRUN_TOKEN_FILE"] = path;
  return {};
}

void share_node(const Environment& environment, const CoreSet& allowed, Job& job) {
  const Allocation& task = *job.options.allocation;
  WorkerSetup& setup = job.setup;
  if (task.tasks_here > 1 && job.options.gpus.is_of_one_task()) {
    if (task.task == 0) job.notes.push_back(note_of_one_task(job.options.gpus));
  } else {
    setup.workers_before = task.local_task;
    setup.workers_beside = task.tasks_here - 1;
  }
  if (has_own_cores(environment, static_cast<int>(allowed.size()))) return;
  setup.core_count = std::max(1, setup.core_count / task.tasks_here);
}

}  // namespace ddprun
