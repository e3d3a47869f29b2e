#include "rendezvous/worker_end.hpp"

#include "rendezvous/result.hpp"
#include "rendezvous/signal_abbreviation.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace ddprun {

std::string signal_name(int signal) {
  const std::string_view name = signal_abbreviation(signal);
  return name.empty() ? fmt::format("signal {}", signal) : fmt::format("SIG{} ({})", name, signal);
}

std::string describe(const WorkerFailure& failure) {
  const std::string who =
      fmt::format("rank {} (pid {} on {})", failure.rank.value, failure.pid, failure.host);
  switch (failure.end.kind) {
    case WorkerEnd::Kind::exited:
      return fmt::format("{} exited with {}", who, failure.end.code);
    case WorkerEnd::Kind::killed:
      return fmt::format("{} was killed by {}", who, signal_name(failure.end.code));
    case WorkerEnd::Kind::not_executed:
      return fmt::format("{} could not be executed: {}", who, std::strerror(failure.end.code));
    case WorkerEnd::Kind::hung:
      return fmt::format("{} hung: it told nothing for {:g} s", who, failure.end.code / 1'000.0);
    case WorkerEnd::Kind::not_started:
      break;
  }
  return fmt::format("rank {} on {} could not be started: {}",
                     failure.rank.value,
                     failure.host,
                     std::strerror(failure.end.code));
}

int exit_status_of(const WorkerEnd& end) {
  switch (end.kind) {
    case WorkerEnd::Kind::exited:
      return end.code;
    case WorkerEnd::Kind::killed:
      return 128 + end.code;
    case WorkerEnd::Kind::not_executed:
      return static_cast<int>(end.code == ENOENT ? ExitStatus::program_not_found
                                                 : ExitStatus::cannot_execute);
    case WorkerEnd::Kind::hung:
      return static_cast<int>(ExitStatus::hung);
    case WorkerEnd::Kind::not_started:
      break;
  }
  return static_cast<int>(ExitStatus::system_refused);
}

}  // namespace ddprun
