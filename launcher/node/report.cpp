#include "launcher/node/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace ddprun {

namespace {

std::string hint_for_exec(int error) {
  switch (error) {
    case ENOENT:
      return "the program or the interpreter in its first line is not there";
    case ENOEXEC:
      return "it is no program for this machine; a script needs a first line #!";
    case E2BIG:
      return "arguments and environment together are too large for the kernel";
    case EAGAIN:
      return "too many processes: see ulimit -u and the job's limits";
    default:
      return {};
  }
}

std::string hint_for_start(int error) {
  switch (error) {
    case EMFILE:
      return "too few descriptors: raise the hard limit, ulimit -Hn";
    case ENFILE:
      return "the machine has no descriptors left: see /proc/sys/fs/file-max";
    case EAGAIN:
      return "too many processes: see ulimit -u and the job's limits";
    case ENOMEM:
      return "too little memory: see the job's memory limit";
    default:
      return {};
  }
}

std::string hint_for_signal(int signal) {
  switch (signal) {
    case SIGKILL:
      return "by another process, or by the kernel when memory ran out: see dmesg and the job's "
             "memory limit";
    case SIGBUS:
      return "often a full /dev/shm: see df /dev/shm";
    case SIGXCPU:
      return "the limit of CPU time: see ulimit -t";
    case SIGXFSZ:
      return "the limit of file size: see ulimit -f";
    default:
      return {};
  }
}

/// Any process of the group, such as one that loads data for the worker.
std::string hint_for_memory(std::int64_t kills) {
  return fmt::format("memory ran out: the kernel killed {} here; raise the job's memory limit",
                     kills == 1 ? "a process" : fmt::format("{} processes", kills));
}

std::string quoted(const std::deque<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += fmt::format("  | {}\n", line);
  return text;
}

std::deque<std::string> lines_in(const std::string& text) {
  std::deque<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else if (c != '\r') {
      lines.back() += c;
    }
  }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

/// Of a traceback that is the exception.
std::string last_line_of(const std::string& whose, const std::deque<std::string>& lines) {
  const auto last = std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) {
    return line.find_first_not_of(" \t") != std::string::npos;
  });
  if (last == lines.rend()) return {};
  return fmt::format("  last line of {}: {}\n", whose, *last);
}

}  // namespace

std::vector<std::string> coordinating_notes(const Job& job, const Endpoint& endpoint) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  std::vector<std::string> notes;
  if (!job.meeting.credentials.authenticated) notes.emplace_back(not_authenticated);
  if (job.meeting.plan.is_on_one_host) {
    notes.push_back(fmt::format("{} is an address of every host: only agents of this host can join",
                                rendezvous.endpoint->host));
  }
  notes.push_back(fmt::format("coordinating job {} for {} to {} nodes at {}",
                              job.setup.job_id,
                              rendezvous.gathering.nodes_min,
                              rendezvous.gathering.nodes_max,
                              text_of(endpoint)));
  return notes;
}

std::string failure_details(const Outcome& outcome, const FailureFacts& facts) {
  if (!outcome.failure) return {};
  const int rank = outcome.failure->rank.value;
  const std::string whose =
      fmt::format("rank {}'s {}", rank, facts.are_of_both ? "output" : "stderr");
  std::string text;
  if (outcome.failure->end.kind == WorkerEnd::Kind::not_executed) {
    text += fmt::format("  program: {}\n", facts.executable);
  }
  if (!facts.exception.empty()) {
    text += fmt::format("  exception of rank {}:\n{}", rank, quoted(lines_in(facts.exception)));
  }
  if (!facts.last_lines.empty() && !facts.were_shown) {
    text += fmt::format("  last lines of {}:\n{}", whose, quoted(facts.last_lines));
  } else if (facts.exception.empty()) {
    text += last_line_of(whose, facts.last_lines);
  }
  if (!facts.error_file.empty()) text += fmt::format("  error file: {}\n", facts.error_file);
  const std::string hint =
      facts.oom_kills > 0 ? hint_for_memory(facts.oom_kills) : hint_for(outcome.failure->end);
  if (!hint.empty()) text += fmt::format("  hint: {}\n", hint);
  return text;
}

bool is_reported_by_script(const Job& job, bool was_told) {
  return job.options.anchored && !job.witness && was_told;
}

std::string hint_for(const WorkerEnd& end) {
  switch (end.kind) {
    case WorkerEnd::Kind::exited:
      return {};
    case WorkerEnd::Kind::killed:
      return hint_for_signal(end.code);
    case WorkerEnd::Kind::not_executed:
      return hint_for_exec(end.code);
    case WorkerEnd::Kind::not_started:
      return hint_for_start(end.code);
  }
  return {};
}

}  // namespace ddprun
