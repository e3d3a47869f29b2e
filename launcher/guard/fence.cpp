#include "launcher/guard/fence.hpp"

#include "launcher/guard/guard_message.hpp"
#include "launcher/processes/descendants.hpp"
#include "launcher/processes/process.hpp"
#include "launcher/system/clock.hpp"
#include "launcher/system/complain.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <variant>

namespace ddprun {
namespace {

constexpr rlim_t limit_share = 8;
constexpr int status_refused = 1;

Error no_fence(const std::string& why, const char* fix) {
  return {ExitStatus::system_refused,
          "workers may outlive their lease while all processes of ddprun here are stopped",
          why,
          fix};
}

Error no_fence_after(const char* call, const char* fix) {
  return no_fence(fmt::format("{}: {}", call, std::strerror(errno)), fix);
}

bool make_timer(timer_t& timer) {
  sigevent kill{};
  kill.sigev_notify = SIGEV_SIGNAL;
  kill.sigev_signo = SIGKILL;
  return ::timer_create(CLOCK_BOOTTIME, &kill, &timer) == 0;
}

void set_timer(timer_t timer, std::optional<Instant> at) {
  itimerspec due{};
  if (at) due.it_value = {at->ms / 1000, at->ms % 1000 * 1'000'000};
  (void)::timer_settime(timer, TIMER_ABSTIME, &due, nullptr);
}

/// Opens a pipe again by one of its ends: the new descriptor has an owner and a signal of its own.
Fd open_again(const Fd& end, int flags) {
  const std::string path = fmt::format("/proc/self/fd/{}", end.get());
  return Fd(::open(path.c_str(), flags | O_CLOEXEC));
}

/// Kills the process group that becomes its owner, once the last write end is closed.
bool arm(const Fd& group_end) {
  return group_end.is_open() && ::fcntl(group_end.get(), F_SETSIG, SIGKILL) == 0 &&
         ::fcntl(group_end.get(), F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
}

bool has_descriptors_for(int worker_count) {
  (void)raise_files_max();
  rlimit files{};
  const auto count = static_cast<rlim_t>(worker_count);
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 && count <= files.rlim_cur / limit_share;
}

}  // namespace

Result<Fence> Fence::open(const FenceOptions& options) {
  timer_t timer{};
  if (!make_timer(timer)) {
    return no_fence_after("timer_create", errno == EAGAIN ? "raise ulimit -i" : "");
  }
  ::timer_delete(timer);
  if (!has_descriptors_for(options.worker_count)) {
    return no_fence("too few descriptors", "raise the hard limit, ulimit -Hn");
  }
  Fence fence;
  fence.margin_ = options.margin;
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return no_fence_after("socketpair", "raise ulimit -n");
  }
  fence.agent_line_ = Fd(pair[0]);
  fence.line_ = Fd(pair[1]);
  const Pipe pipe = open_pipe();
  for (int i = 0; i < options.worker_count; ++i) {
    fence.group_ends_.push_back(open_again(pipe.read_end, O_RDONLY | O_NONBLOCK));
    if (!arm(fence.group_ends_.back())) {
      return no_fence_after("a pipe's signal", "raise ulimit -n, and mount /proc");
    }
  }
  return fence;
}

FenceLink Fence::take_link() {
  line_.reset();
  return {std::move(agent_line_), std::move(group_ends_)};
}

void Fence::begin(int agent_pid, int guard_socket) {
  agent_line_.reset();
  agent_pid_ = agent_pid;
  guard_socket_ = guard_socket;
  start();
}

void Fence::start() {
  use_ = Use::fresh;
  const Fd write_end = open_again(group_ends_.front(), O_WRONLY);
  if (write_end.is_open()) pid_ = ::fork();
  if (pid_ == 0) {
    ::close(guard_socket_);  // its end tells the agent that the guard has died
    run();
  }
}

void Fence::on_lease() {
  if (use_ == Use::refused) return;
  if (pid_ < 0) start();
  use_ = Use::told;
}

void Fence::on_process_end() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == status_refused) {
    use_ = Use::refused;
    complain("ddprun: {}\n", no_fence("timer_create failed", "raise ulimit -i").message());
  } else if (use_ == Use::told) {
    start();
  }
}

/// The fence process.
void Fence::run() const {
  ::prctl(PR_SET_NAME, "ddprun-fence");
  timer_t timer{};
  if (!make_timer(timer)) std::_Exit(status_refused);
  wait_for_lease_end(timer);
  std::_Exit(0);
}

/// Returns when the agent has ended, or has not killed its workers in time, which are killed then.
void Fence::wait_for_lease_end(timer_t timer) const {
  GuardedLease lease;
  while (true) {
    const Instant due = lease.end + margin_ / 4;
    pollfd line{line_.get(), POLLIN, 0};
    const int ready = ::poll(&line, 1, lease.workers_live ? poll_time(due) : -1);
    if (ready == 0 && now() >= due) break;
    if (ready <= 0) continue;
    ssize_t count = 0;
    do {  // only the newest counts; an older one may be over
      GuardMessage message = lease;
      count = receive(line_.get(), MSG_DONTWAIT, message);
      if (const auto* newer = std::get_if<GuardedLease>(&message)) lease = *newer;
    } while (count > 0);
    if (count == 0) return;
    set_timer(timer, lease.workers_live ? std::optional(lease.end + margin_ / 2) : std::nullopt);
  }
  kill_below(agent_pid_);
  kill_below(agent_pid_);
}

}  // namespace ddprun
