#include "launcher/processes/descendants.hpp"

#include <fmt/format.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>

namespace ddprun {

std::vector<int> children_of(int pid) {
  std::vector<int> children;
  std::error_code error;
  const std::filesystem::path tasks = fmt::format("/proc/{}/task", pid);
  for (auto task = std::filesystem::directory_iterator(tasks, error);
       !error && task != std::filesystem::directory_iterator();
       task.increment(error)) {
    std::ifstream list(task->path() / "children");
    for (int child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

bool children_are_visible() {
  std::error_code error;
  const std::string self = std::to_string(::getpid());
  if (std::filesystem::read_symlink("/proc/self", error) != self) return false;
  return ::access(fmt::format("/proc/{0}/task/{0}/children", self).c_str(), R_OK) == 0;
}

void kill_below(int pid) {
  for (const int child : children_of(pid)) {
    ::kill(child, SIGSTOP);
    kill_below(child);
    ::kill(child, SIGKILL);
  }
}

bool kill_and_reap_all(Millis patience) {
  using clock = std::chrono::steady_clock;
  const auto deadline = clock::now() + std::chrono::milliseconds(patience.count);
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  while (true) {
    int reaped = 0;
    do {
      reaped = ::waitpid(-1, nullptr, WNOHANG);
    } while (reaped > 0 || (reaped < 0 && errno == EINTR));
    if (reaped < 0) return true;  // ECHILD
    kill_below(::getpid());
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - clock::now());
    if (left.count() <= 0) return false;
    timespec wait{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    ::sigtimedwait(&child_signal, nullptr, &wait);
  }
}

}  // namespace ddprun
