#include "launcher/processes/reaper.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace ddprun {
namespace {

/// A child that keeps copies of all descriptors, as any does between fork and exec. It ends by
/// itself if the test cannot end it.
int fork_waiting_child() {
  const int pid = ::fork();
  if (pid != 0) return pid;
  constexpr unsigned test_patience_s = 20;
  ::signal(SIGALRM, SIG_DFL);
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

}  // namespace
}  // namespace ddprun
