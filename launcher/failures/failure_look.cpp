#include "launcher/failures/failure_look.hpp"

#include "launcher/failures/error_file.hpp"
#include "launcher/failures/memory_events.hpp"

#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

namespace ddprun {
namespace {

std::string core_pattern() {
  std::string pattern;
  std::ifstream file("/proc/sys/kernel/core_pattern");
  std::getline(file, pattern);
  return pattern;
}

}  // namespace

void FailureLook::begin(const Part& part) {
  part_ = part;
  oom_kills_ = oom_kills();
  kernel_log_.begin();
}

std::optional<FailureFacts> FailureLook::facts_of(const Outcome& outcome) const {
  if (!outcome.failure) return {};
  const int place = outcome.failure->rank.value - part_.first_rank.value;
  if (place < 0 || place >= part_.worker_count) return {};
  FailureFacts facts;
  WorkerGroup::LastLines last = workers_.last_lines(outcome.failure->local_rank);
  facts.last_lines = std::move(last.lines);
  facts.were_shown = last.were_shown;
  facts.are_of_both = last.of_both;
  facts.executable = workers_.plan().command.executable;
  if (workers_.dumped_core(outcome.failure->local_rank)) facts.core_pattern = core_pattern();
  const std::string log = kernel_log_.news();
  facts.driver_error = xid_in(log);
  if (oom_kills_) facts.oom_kills = oom_kills().value_or(*oom_kills_) - *oom_kills_;
  if (!oom_kills_ && has_oom_kill(log, outcome.failure->pid)) facts.oom_kills = 1;
  const WorkerSetup& setup = workers_.plan().setup;
  const std::string error_file = error_file_path(setup, part_, outcome.failure->rank);
  if (!error_file.empty() && ::access(error_file.c_str(), R_OK) == 0) {
    if (setup.error_folder.empty()) facts.error_file = error_file;  // it stays
    facts.exception = exception_in(read_error_file(error_file));
  }
  return facts;
}

}  // namespace ddprun
