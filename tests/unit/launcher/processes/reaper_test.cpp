#include "launcher/processes/reaper.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

namespace ddprun {
namespace {

/// A child that keeps copies of all descriptors, as any does between fork and exec. It ends by
/// itself if the test cannot end it.
int fork_waiting_child() {
  const int pid = ::fork();
  if (pid != 0) return pid;
  constexpr unsigned test_patience_s = 20;
  (void)::signal(SIGALRM, SIG_DFL);
  ::alarm(test_patience_s);
  while (true) ::pause();
}

void wait_until_ended(int pid) {
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
}

TEST_CASE("reaper: a child that executes nothing yet holds up no other one's end") {
  Reaper reaper;
  const int first = fork_waiting_child();
  reaper.watch(first);
  const int second = fork_waiting_child();
  reaper.watch(second);
  ::kill(first, SIGKILL);
  wait_until_ended(first);
  const std::vector<EndedChild> ended = reaper.reap();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].pid == first);
  CHECK(ended[0].end == WorkerEnd{WorkerEnd::Kind::killed, SIGKILL});
  CHECK_FALSE(reaper.none_left());
  ::kill(second, SIGKILL);
  wait_until_ended(second);
  CHECK(reaper.reap().size() == 1);
  CHECK(reaper.none_left());
}

TEST_CASE("reaper: children come in the order in which they ended") {
  Reaper reaper;
  std::vector<int> pids;
  for (int i = 0; i < 3; ++i) {
    pids.push_back(fork_waiting_child());
    reaper.watch(pids.back());
  }
  for (const int i : {2, 0, 1}) {
    ::kill(pids[static_cast<std::size_t>(i)], SIGKILL);
    wait_until_ended(pids[static_cast<std::size_t>(i)]);
  }
  const std::vector<EndedChild> ended = reaper.reap();
  REQUIRE(ended.size() == 3);
  CHECK(ended[0].pid == pids[2]);
  CHECK(ended[1].pid == pids[0]);
  CHECK(ended[2].pid == pids[1]);
}

/// Ends in that folder by SIGQUIT, with all of the core that it may leave.
[[noreturn]] void die_in(const std::string& folder) {
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_CORE, &limit);
  (void)::signal(SIGQUIT, SIG_DFL);
  if (::chdir(folder.c_str()) == 0) (void)::raise(SIGQUIT);
  ::_exit(1);
}

TEST_CASE("reaper: it tells whether the kernel has dumped a core") {
  std::string pattern;
  std::getline(std::ifstream("/proc/sys/kernel/core_pattern"), pattern);
  const TempFolder folder;
  const int pid = ::fork();
  if (pid == 0) die_in(folder.path());
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
  Reaper reaper;
  reaper.watch(pid);
  const std::vector<EndedChild> ended = reaper.reap();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].end == WorkerEnd{WorkerEnd::Kind::killed, SIGQUIT});
  CHECK(ended[0].dumped_core == (info.si_code == CLD_DUMPED));  // wherever the core has gone
  const bool is_here = !std::filesystem::is_empty(folder.path());
  if (!pattern.starts_with('|') && !pattern.starts_with('/')) {
    CHECK(ended[0].dumped_core == is_here);
  }
}

}  // namespace
}  // namespace ddprun
