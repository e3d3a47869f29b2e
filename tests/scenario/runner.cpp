// Plays scenario files: `scenario_runner FILE.txt...`.
//
// A scenario is a list of blocks, with an empty line between two of them. A block is what happens,
// one command a line, then `----`, then the exact trace of what the job does about it. Lines that
// begin with # are for people. With DDPRUN_REWRITE=1 in the environment the traces are written
// anew.
//
//   job workers=2 max-restarts=1 grace=10s restart-grace=1s shares-terminal refused=1
//   exits LOCAL_RANK STATUS        killed LOCAL_RANK SIGNAL      not-executed LOCAL_RANK ERRNO
//   all-die                        every living worker, by SIGKILL
//   signal SIGNAL [key]            to ddprun itself; by a key of the terminal
//   guard-dies
//   pass DURATION                  the clock moves on, and what is due happens
//   deadline                       the clock moves to what is due next
//   reason                         why things are as they are
#include "launcher/text/values.hpp"
#include "tests/unit/trace.hpp"
#include "tests/unit/world.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(what);
}

Words words_of(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

int number(const std::string& text) {
  const auto count = parse_count(text);
  if (!count) refuse(fmt::format("'{}' is no number", text));
  return static_cast<int>(*count);
}

Millis duration(const std::string& text) {
  const auto time = parse_duration(text);
  if (!time) refuse(fmt::format("'{}' is no time", text));
  return *time;
}

int named(const std::map<std::string, int>& names, const std::string& name) {
  const auto found = names.find(name);
  if (found == names.end()) refuse(fmt::format("'{}' is not known here", name));
  return found->second;
}

int signal_of(const std::string& name) {
  return named({{"INT", SIGINT},
                {"TERM", SIGTERM},
                {"HUP", SIGHUP},
                {"KILL", SIGKILL},
                {"SEGV", SIGSEGV},
                {"USR1", SIGUSR1}},
               name);
}

int error_of(const std::string& name) {
  return named({{"ENOENT", ENOENT}, {"EACCES", EACCES}, {"ENOEXEC", ENOEXEC}}, name);
}

WorldOptions job_of(const Words& words) {
  WorldOptions job;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    const std::string key = words[i].substr(0, equals);
    const std::string value = words[i].substr(std::min(equals + 1, words[i].size()));
    if (key == "workers") {
      job.worker_count = number(value);
    } else if (key == "max-restarts") {
      job.restarts_max = number(value);
    } else if (key == "grace") {
      job.grace = duration(value);
    } else if (key == "restart-grace") {
      job.restart_grace = duration(value);
    } else if (key == "shares-terminal") {
      job.shares_terminal = true;
    } else if (key == "refused") {
      job.refused.insert(number(value));
    } else {
      refuse(fmt::format("a job has no '{}'", key));
    }
  }
  return job;
}

/// Plays the commands of one file, one after the other.
class Player {
 public:
  /// Returns what the job does about it, line by line.
  Lines play(const std::string& command) {
    Words words = words_of(command);
    words.resize(std::max<std::size_t>(words.size(), 3));  // missing words are empty ones
    const std::string& verb = words[0];
    if (verb == "job") {
      world_.emplace(job_of(words_of(command)));
    } else if (!world_) {
      refuse("the first command is 'job'");
    } else if (verb == "exits") {
      end(words[1], {WorkerEnd::Kind::exited, number(words[2])});
    } else if (verb == "killed") {
      end(words[1], {WorkerEnd::Kind::killed, signal_of(words[2])});
    } else if (verb == "not-executed") {
      end(words[1], {WorkerEnd::Kind::not_executed, error_of(words[2])});
    } else if (verb == "all-die") {
      world_->all_die();
    } else if (verb == "signal") {
      world_->signal_arrives(signal_of(words[1]), words[2] == "key");
    } else if (verb == "guard-dies") {
      world_->guard_dies();
    } else if (verb == "pass") {
      world_->time_passes(duration(words[1]));
    } else if (verb == "deadline") {
      if (!world_->deadline_comes()) refuse("nothing is due");
    } else if (verb == "reason") {
      return {world_->reason()};
    } else {
      refuse(fmt::format("'{}' is no command", verb));
    }
    return happened();
  }

 private:
  void end(const std::string& local_rank, WorkerEnd how) {
    const int rank = number(local_rank);
    if (!world_->alive(rank)) refuse(fmt::format("worker {} does not live", rank));
    world_->worker_ends(rank, how);
  }

  Lines happened() {
    Lines lines;
    for (std::string& line : world_->take_trace()) lines.push_back(std::move(line));
    for (std::size_t i = broken_seen_; i < world_->broken().size(); ++i) {
      lines.push_back("BROKEN  " + world_->broken()[i]);
    }
    broken_seen_ = world_->broken().size();
    return lines;
  }

  std::optional<World> world_;
  std::size_t broken_seen_ = 0;
};

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse("cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The text of the file as it should be: each block with the trace that its commands really cause.
std::string played(const std::vector<std::string>& lines) {
  Player player;
  std::string text;
  Lines trace;
  bool in_trace = false;
  for (std::size_t i = 0; i <= lines.size(); ++i) {
    const bool at_end = i == lines.size() || lines[i].empty();
    if (at_end && in_trace) {
      for (const std::string& line : trace) text += line + "\n";
      trace.clear();
      in_trace = false;
    }
    if (i == lines.size() || in_trace) continue;
    text += lines[i] + "\n";
    if (lines[i] == "----") {
      in_trace = true;
    } else if (!at_end && lines[i][0] != '#') {
      const Lines more = player.play(lines[i]);
      trace.insert(trace.end(), more.begin(), more.end());
    }
  }
  if (!trace.empty()) refuse("the last block has no ----");
  return text;
}

/// Says where the two differ first.
void tell_difference(const std::string& path, const std::string& was, const std::string& is) {
  std::istringstream expected(was);
  std::istringstream actual(is);
  std::string line_expected;
  std::string line_actual;
  for (int line = 1;; ++line) {
    const bool more = static_cast<bool>(std::getline(expected, line_expected));
    const bool more_actual = static_cast<bool>(std::getline(actual, line_actual));
    if (more && more_actual && line_expected == line_actual) continue;
    fmt::print("{}:{}:\n  expected: {}\n  happened: {}\n",
               path,
               line,
               more ? line_expected : "(end)",
               more_actual ? line_actual : "(end)");
    return;
  }
}

bool run(const std::string& path, bool rewrite) {
  try {
    const std::vector<std::string> lines = read_lines(path);
    std::string was;
    for (const std::string& line : lines) was += line + "\n";
    const std::string is = played(lines);
    if (is == was) return true;
    if (rewrite) {
      std::ofstream(path) << is;
      fmt::print("{}: written anew\n", path);
      return true;
    }
    tell_difference(path, was, is);
  } catch (const std::exception& error) {
    fmt::print("{}: {}\n", path, error.what());
  }
  return false;
}

}  // namespace
}  // namespace ddprun

int main(int argc, char** argv) {
  const char* wish = std::getenv("DDPRUN_REWRITE");
  const bool rewrite = wish != nullptr && std::string_view(wish) == "1";
  int failed = argc > 1 ? 0 : 1;
  for (int i = 1; i < argc; ++i) failed += ddprun::run(argv[i], rewrite) ? 0 : 1;
  return failed == 0 ? 0 : 1;
}
