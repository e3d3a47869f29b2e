#include "launcher/processes/process.hpp"

#include "launcher/processes/argument_pointers.hpp"
#include "launcher/system/clock.hpp"
#include "rendezvous/result.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <pty.h>
#include <system_error>

namespace ddprun {
namespace {

std::system_error system_failure(const char* what) {
  return {errno, std::generic_category(), what};
}

struct ExecFailure {
  int pid;
  int error;
};

unsigned long raise_now() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 1024;
  const unsigned long before = files.rlim_cur;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return before;
}

/// The upper end of what a child has as its stack until it executes: one child at a time, or each a
/// copy of it. A preloaded library may stand in for execve(2) and take much. What is below faults.
char* stack_end() {
  constexpr std::size_t stack_bytes = 1024 * 1024;
  constexpr std::size_t guard_bytes = 64 * 1024;  // the largest page
  static char* const begin = [] {
    constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE;
    void* const all = ::mmap(nullptr, guard_bytes + stack_bytes, PROT_NONE, kind, -1, 0);
    if (all == MAP_FAILED) throw system_failure("mmap");
    char* const stack = static_cast<char*>(all) + guard_bytes;
    if (::mprotect(stack, stack_bytes, PROT_READ | PROT_WRITE) != 0) throw system_failure("mmap");
    return stack;
  }();
  return begin + stack_bytes;
}

/// The child before it executes the program: only async-signal-safe calls, since other threads may
/// hold locks. Of the parent's memory it writes only its own stack and errno.
struct ChildSide {
  const SpawnContext& context;
  int parent_pid;
  int out_fd;
  int err_fd;
  const ProgramText& program;

  /// Returns its exit status, if the program is not executed.
  [[nodiscard]] int run() const {
    if (!context.share_terminal) ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent_pid) return EXIT_FAILURE;  // it died before the line above
    if (!joins_fence()) return give_up();
    restore_limits();
    choose_cores();
    if (!context.share_terminal) {
      ::dup2(context.stdin_fd, STDIN_FILENO);
      ::dup2(out_fd, STDOUT_FILENO);
      ::dup2(err_fd, STDERR_FILENO);
    }
    if (context.kept_fd >= 0) ::fcntl(context.kept_fd, F_SETFD, 0);
    for (int signal = 1; signal < NSIG; ++signal) {
      if (sigismember(&context.ignored_signals, signal) == 1) (void)::signal(signal, SIG_IGN);
    }
    ::sigprocmask(SIG_SETMASK, &context.user_signals, nullptr);
    if (context.lease_end && now() >= *context.lease_end) return EXIT_FAILURE;
    ::execve(program.executable(), program.arguments(), program.variables());
    return give_up();
  }

  /// Returns its pid, or -1 with an errno.
  [[nodiscard]] int start() const {
    const auto run_this = [](void* child) { return static_cast<const ChildSide*>(child)->run(); };
    const int shared = context.shares_memory ? CLONE_VM | CLONE_VFORK : 0;
    void* const child = const_cast<ChildSide*>(this);  // NOLINT(*-const-cast): clone takes no const
    return ::clone(run_this, stack_end(), shared | SIGCHLD, child);
  }

 private:
  /// The fence's target: a single process if the group is ddprun's own.
  [[nodiscard]] bool joins_fence() const {
    if (context.group_end < 0) return true;
    const int owner = context.share_terminal ? ::getpid() : -::getpid();
    return ::fcntl(context.group_end, F_SETOWN, owner) == 0;
  }

  [[nodiscard]] int give_up() const {
    const ExecFailure failure{::getpid(), errno};
    if (context.exec_failures_fd >= 0) {
      (void)!::write(context.exec_failures_fd, &failure, sizeof failure);
    }
    const bool is_missing = failure.error == ENOENT;
    return static_cast<int>(is_missing ? ExitStatus::program_not_found
                                       : ExitStatus::cannot_execute);
  }

  /// Refused only if none of them may be used any more, since the system has changed what is
  /// allowed; then it is better to run on others.
  void choose_cores() const {
    const std::vector<unsigned long>& mask = context.core_mask;
    if (mask.empty()) return;
    const std::size_t bytes = mask.size() * sizeof(unsigned long);
    (void)::syscall(SYS_sched_setaffinity, 0, bytes, mask.data());
  }

  void restore_limits() const {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = context.user_files_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
};

}  // namespace

unsigned long raise_files_max() {
  static const unsigned long before = raise_now();
  return before;
}

std::vector<unsigned long> core_mask(const std::set<int>& cores) {
  constexpr int word_bits = sizeof(unsigned long) * CHAR_BIT;
  std::vector<unsigned long> mask;
  for (const int core : cores) {
    mask.resize(static_cast<std::size_t>(core / word_bits) + 1);
    mask.back() |= 1UL << static_cast<unsigned>(core % word_bits);
  }
  return mask;
}

Pipe open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw system_failure("pipe");
  }
  Pipe pipe{Fd(ends[0]), Fd(ends[1])};
  ::fcntl(ends[1], F_SETFL, 0);  // the child's end blocks, as programs expect of their output
  return pipe;
}

Pipe open_pty(int columns) {
  termios settings{};
  ::cfmakeraw(&settings);
  settings.c_cflag |= CREAD;
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  int read_end = -1;
  int write_end = -1;
  if (::openpty(&read_end, &write_end, nullptr, &settings, &size) != 0) {
    throw system_failure("openpty");
  }
  for (const int end : {read_end, write_end}) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  ::fcntl(read_end, F_SETFL, O_NONBLOCK);
  return {Fd(read_end), Fd(write_end)};
}

int ExecFailures::of(int pid) {
  ExecFailure failure{};
  while (::read(pipe_.read_end.get(), &failure, sizeof failure) == sizeof failure) {
    errors_[failure.pid] = failure.error;
  }
  const auto found = errors_.find(pid);
  return found == errors_.end() ? 0 : found->second;
}

ProgramText::ProgramText(const Command& command, const Environment& environment)
    : executable_(command.executable), arguments_(command.arguments) {
  variables_.reserve(environment.size());
  for (const auto& [name, value] : environment) variables_.push_back(name + "=" + value);
  argument_pointers_ = pointers_to(arguments_);
  variable_pointers_ = pointers_to(variables_);
}

ChildProcess spawn_process(const SpawnContext& context, const ProgramText& program) {
  const auto open_stream = [&] {
    return context.pty_columns > 0 ? open_pty(context.pty_columns) : open_pipe();
  };
  Pipe out = context.share_terminal ? Pipe() : open_stream();
  Pipe err = context.share_terminal || context.err_is_out ? Pipe() : open_stream();
  const ChildSide child{context,
                        ::getpid(),
                        out.write_end.get(),
                        context.err_is_out ? out.write_end.get() : err.write_end.get(),
                        program};
  const int pid = child.start();
  if (pid < 0) throw system_failure("clone");
  // In the child as well: in either order, the group exists from here on.
  if (!context.share_terminal) ::setpgid(pid, pid);
  return {pid, std::move(out.read_end), std::move(err.read_end)};
}

}  // namespace ddprun
