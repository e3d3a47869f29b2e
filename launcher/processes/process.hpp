// Starting one child process: a worker, or a command that ddprun runs for itself.
#pragma once

#include "launcher/processes/command.hpp"
#include "launcher/text/environment.hpp"
#include "rendezvous/fd.hpp"
#include "rendezvous/units.hpp"

#include <signal.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ddprun {

/// A pipe whose ends both close at exec.
struct Pipe {
  Fd read_end;
  Fd write_end;
};

/// Throws a std::system_error if the system has no descriptor left.
[[nodiscard]] Pipe open_pipe();

/// A pseudo terminal so wide, as a pipe: what is written at one end is read at the other unchanged.
/// Throws a std::system_error if there is none left.
[[nodiscard]] Pipe open_pty(int columns);

struct ChildProcess {
  int pid = 0;
  Fd out;  ///< Read end of its stdout; none if it shares the terminal.
  Fd err;  ///< Read end of its stderr, likewise; none either if that is stdout.
};

/// Tells which of several children could not be executed, and why: each writes its errno into one
/// pipe that all of them share and that a successful exec closes. No two of them have one pid, so
/// they must all be started before the first of them is reaped.
class ExecFailures {
 public:
  ExecFailures() : pipe_(open_pipe()) {}

  /// The errno with which the exec of that child failed, or 0. Right once it has ended.
  [[nodiscard]] int of(int pid);

  [[nodiscard]] int write_end() const { return pipe_.write_end.get(); }

 private:
  Pipe pipe_;
  std::map<int, int> errors_;  // by pid
};

/// Returns the soft limit of open files that the user has given this process, which those that it
/// starts get back. The process itself has the hard limit from then on: pipes and store connections
/// of a thousand workers need more than the usual 1,024.
unsigned long raise_files_max();

/// With the bit of each core set, as sched_setaffinity(2) takes it; empty for no core.
[[nodiscard]] std::vector<unsigned long> core_mask(const std::set<int>& cores);

/// What a child is started with besides its command.
struct SpawnContext {
  sigset_t user_signals{};           ///< The mask to restore.
  sigset_t ignored_signals{};        ///< Until the program says otherwise.
  unsigned long user_files_max = 0;  ///< The soft limit of open files to restore.
  bool share_terminal = false;  ///< Keep stdin, stdout, stderr and the terminal's process group.
  int stdin_fd = -1;            ///< Becomes stdin otherwise.
  bool err_is_out = false;      ///< One pipe has both streams, in the order of what is written.
  int pty_columns = 0;          ///< Pseudo terminals so wide instead of pipes; 0: pipes.
  int kept_fd = -1;             ///< Stays open under its number, too; -1: none.
  int exec_failures_fd = -1;    ///< -1: its exit status alone says that it was not executed.
  std::vector<unsigned long> core_mask;  ///< Which it may use, a bit each; empty: as this process.
  int group_end = -1;                ///< Of the fence: becomes the property of its process group.
  std::optional<Instant> lease_end;  ///< From then on nothing is executed.

  /// The child has no copy of this process's memory, and this thread waits until it executes, as
  /// after vfork(2). Only for what executes at once: while the file system of a program hangs, or
  /// somebody stops the child, this thread would do nothing else.
  bool shares_memory = false;
};

/// What execve takes. Whoever starts many children makes all of these first: what is written to
/// between two that get a copy of this process's memory is copied then, a page at a time.
class ProgramText {
 public:
  ProgramText(const Command& command, const Environment& environment);

  // They point into this.
  [[nodiscard]] const char* executable() const { return executable_.c_str(); }
  [[nodiscard]] char* const* arguments() const { return argument_pointers_.data(); }
  [[nodiscard]] char* const* variables() const { return variable_pointers_.data(); }

 private:
  std::string executable_;
  std::vector<std::string> arguments_;
  std::vector<std::string> variables_;  // NAME=value
  std::vector<char*> argument_pointers_;
  std::vector<char*> variable_pointers_;
};

/// Starts one child: its own process group, SIGKILL when this thread dies, original signal mask and
/// limits, stdin as it is given, stdout and stderr into pipes. A failed exec shows as the child's
/// end and in ExecFailures. Throws a std::system_error if the system refuses a pipe or the process.
/// For the one thread that starts processes.
///
/// The child looks at the clock itself, since this process may be stopped between any two lines: it
/// is either there when the guard kills what lives at the lease's end, or sees that it is over. The
/// same holds for the fence, which it joins before it looks.
[[nodiscard]] ChildProcess spawn_process(const SpawnContext& context, const ProgramText& program);

}  // namespace ddprun
