#include "launcher/processes/reaper.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace ddprun {
namespace {

enum class Waited { reaped, none_ended, no_children };

Waited reap_one(idtype_t which, int pid, std::vector<EndedChild>& out) {
  siginfo_t info{};
  while (::waitid(which, static_cast<id_t>(pid), &info, WEXITED | WNOHANG) != 0) {
    if (errno != EINTR) return Waited::no_children;
  }
  if (info.si_pid == 0) return Waited::none_ended;
  const auto kind = info.si_code == CLD_EXITED ? WorkerEnd::Kind::exited : WorkerEnd::Kind::killed;
  const bool dumped_core = info.si_code == CLD_DUMPED;
  out.push_back({info.si_pid, WorkerEnd{kind, info.si_status}, dumped_core});
  return Waited::reaped;
}

}  // namespace

Reaper::Reaper() : order_(::epoll_create1(EPOLL_CLOEXEC)) {}

void Reaper::watch(int pid) {
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));  // close-on-exec by definition
  if (!pidfd.is_open()) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = pid;
  if (::epoll_ctl(order_.get(), EPOLL_CTL_ADD, pidfd.get(), &event) != 0) return;
  watched_.insert_or_assign(pid, std::move(pidfd));
}

/// Closing alone does not end it: a child that has not executed its program yet has a copy.
void Reaper::unwatch(int pid) {
  const auto watched = watched_.extract(pid);
  if (!watched.empty()) ::epoll_ctl(order_.get(), EPOLL_CTL_DEL, watched.mapped().get(), nullptr);
}

std::vector<EndedChild> Reaper::reap() {
  std::vector<EndedChild> ended;
  std::array<epoll_event, 64> ready{};
  int count = 0;
  do {
    count = ::epoll_wait(order_.get(), ready.data(), static_cast<int>(ready.size()), 0);
    for (int i = 0; i < count; ++i) {
      const int pid = ready[static_cast<std::size_t>(i)].data.fd;
      reap_one(P_PID, pid, ended);
      unwatch(pid);
    }
  } while (count > 0);
  Waited waited{};
  do {
    waited = reap_one(P_ALL, 0, ended);
    if (waited == Waited::reaped) unwatch(ended.back().pid);
  } while (waited == Waited::reaped);
  none_left_ = waited == Waited::no_children;
  return ended;
}

}  // namespace ddprun
