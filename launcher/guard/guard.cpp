#include "launcher/guard/guard.hpp"

#include "launcher/guard/guard_message.hpp"
#include "launcher/processes/descendants.hpp"
#include "launcher/processes/kill_patience.hpp"
#include "launcher/system/clock.hpp"
#include "launcher/system/complain.hpp"
#include "launcher/system/ignored_signal.hpp"
#include "launcher/system/terminal.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/worker_end.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

namespace ddprun {
namespace {

constexpr std::array forwarded_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};

Failure refused(const char* what, const char* fix) {
  return Failure(Error(ExitStatus::system_refused, what, std::strerror(errno), fix));
}

int wait_for(int pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

/// Without /proc an error says why it is needed.
std::optional<Fence> open_fence(const std::optional<FenceOptions>& options) {
  if (!options) return std::nullopt;
  auto fence = Fence::open(*options);
  if (fence) return *std::move(fence);
  complain("ddprun: {}\n", fence.error().message());
  return std::nullopt;
}

bool has_stopped(int pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG) == 0 &&
         info.si_pid == pid;
}

/// As ctrl-Z does with any program; returns when this process is continued.
void stop_here() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  (void)::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

/// The signals of one guard: passes them on to its agent, and stops with it.
class Signals {
 public:
  Signals(int agent_pid, int agent_socket, int fd)
      : agent_pid_(agent_pid), agent_socket_(agent_socket), fd_(fd) {}

  void pass_on() {
    signalfd_siginfo arrived{};
    if (::read(fd_, &arrived, sizeof arrived) != sizeof arrived) return;
    if (arrived.ssi_signo == SIGCHLD) {
      if (stops_with_agent_ && has_stopped(agent_pid_)) stop_with_agent();
      return;
    }
    stops_with_agent_ = arrived.ssi_signo == SIGTSTP;
    // A key reaches the whole foreground group; a hang-up only the session's leader.
    const bool key = arrived.ssi_code == SI_KERNEL && arrived.ssi_signo != SIGHUP;
    const auto message =
        static_cast<unsigned char>(arrived.ssi_signo | (key ? from_terminal_bit : 0U));
    (void)::send(agent_socket_, &message, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

 private:
  void stop_with_agent() {
    stops_with_agent_ = false;
    stop_here();
    (void)::kill(agent_pid_, SIGCONT);
  }

  int agent_pid_;
  int agent_socket_;
  int fd_;
  bool stops_with_agent_ = false;  // ctrl-Z was passed on to it
};

/// What the agent tells its guard.
struct Told {
  LeaseWatch lease;
  WillAddress will;

  /// False at the end of the agent.
  bool hear(int socket) {
    GuardMessage message;
    if (receive(socket, 0, message) <= 0) return false;
    if (const auto* newer = std::get_if<GuardedLease>(&message)) lease.tell(*newer);
    if (const auto* newer = std::get_if<WillAddress>(&message)) will = *newer;
    return true;
  }
};

/// Passes signals on and watches the lease, until the agent has closed its end of the socketpair,
/// which only its death does.
void watch(
    int agent_pid, int agent_socket, int signal_fd, std::optional<Fence>& fence, Told& told) {
  LeaseWatch& lease = told.lease;
  Signals signals(agent_pid, agent_socket, signal_fd);
  while (true) {
    std::array<pollfd, 3> ready{pollfd{agent_socket, POLLIN, 0},
                                pollfd{signal_fd, POLLIN, 0},
                                pollfd{fence ? fence->process_end() : -1, 0, 0}};
    const auto deadline = lease.next_deadline();
    const int time_left = deadline ? poll_time(*deadline) : -1;
    if (::poll(ready.data(), ready.size(), time_left) < 0) continue;
    if (ready[2].revents != 0) fence->on_process_end();
    if (ready[1].revents != 0) signals.pass_on();
    if (ready[0].revents != 0) {
      if (!told.hear(agent_socket)) return;
      if (fence && lease.workers_live()) fence->on_lease();
    } else if (lease.take_end(now())) {
      kill_below(agent_pid);
      kill_below(agent_pid);  // processes that the agent has inherited, such as orphans
    }
  }
}

int clean_up_after(int agent_pid, const GuardOptions& options, const Told& told) {
  const int status = wait_for(agent_pid);
  const bool clean = kill_and_reap_all(kill_patience);
  if (!clean) {
    complain("ddprun: some processes survived SIGKILL; they are stuck inside the kernel\n");
  }
  if (!WIFEXITED(status)) {
    if (options.erases_row && may_redraw(STDERR_FILENO)) complain("\r\x1b[J");
    complain("ddprun: the agent process {} was killed by {}; all workers were killed\n",
             agent_pid,
             signal_name(WTERMSIG(status)));
  }
  if (clean && options.will) deliver(*options.will, told.will.text.data());
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ExitStatus::internal_error);
}

}  // namespace

int run_guarded(const GuardOptions& options, const std::function<int(GuardLink)>& agent) {
  if (!children_are_visible()) {
    throw Failure(Error(ExitStatus::system_refused,
                        "cannot list child processes",
                        "/proc is not mounted, or belongs to another PID namespace",
                        "mount this one's (unshare --mount-proc), else nothing can be cleaned up"));
  }
  sigset_t all;
  GuardLink link;
  link.guard = ::getpid();
  sigfillset(&all);
  (void)::signal(SIGCHLD, SIG_DFL);  // if it is ignored, children leave no status
  ::sigprocmask(SIG_BLOCK, &all, &link.user_signals);
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    throw refused("cannot make a socketpair", "raise ulimit -n");
  }
  Fd own_end(pair[0]);
  link.socket = Fd(pair[1]);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t forwarded;
  sigemptyset(&forwarded);
  sigaddset(&forwarded, SIGCHLD);
  for (const int signal : forwarded_signals) {
    // A blocked signal is delivered to a signalfd even if it is ignored.
    if (!is_ignored(signal)) sigaddset(&forwarded, signal);
  }
  const Fd signal_fd(::signalfd(-1, &forwarded, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signal_fd.is_open()) throw refused("cannot listen to signals", "raise ulimit -n");
  std::optional<Fence> fence = open_fence(options.fence);
  const int pid = ::fork();
  if (pid < 0) {
    throw refused("cannot start the agent process",
                  "raise ulimit -u, or the limits of the container or job");
  }
  if (pid == 0) {
    own_end.reset();
    if (fence) link.fence = fence->take_link();
    fence.reset();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // fork does not pass it on
    std::_Exit(agent(std::move(link)));
  }
  link.socket.reset();
  if (fence) fence->begin(pid, own_end.get());
  Told told;
  watch(pid, own_end.get(), signal_fd.get(), fence, told);
  return clean_up_after(pid, options, told);
}

}  // namespace ddprun
