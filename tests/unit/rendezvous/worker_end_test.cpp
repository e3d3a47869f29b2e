#include "rendezvous/worker_end.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>

namespace ddprun {
namespace {

using Kind = WorkerEnd::Kind;

TEST_CASE("worker end: only an exit with 0 is success") {
  CHECK(WorkerEnd{Kind::exited, 0}.success());
  CHECK_FALSE(WorkerEnd{Kind::exited, 1}.success());
  CHECK_FALSE(WorkerEnd{Kind::killed, 0}.success());
  CHECK_FALSE(WorkerEnd{Kind::not_executed, 0}.success());
  CHECK_FALSE(WorkerEnd{Kind::not_started, 0}.success());
}

TEST_CASE("worker end: its status is what a shell would report") {
  CHECK(exit_status_of({Kind::exited, 0}) == 0);
  CHECK(exit_status_of({Kind::exited, 255}) == 255);
  CHECK(exit_status_of({Kind::killed, SIGKILL}) == 137);
  CHECK(exit_status_of({Kind::killed, SIGTERM}) == 143);
  CHECK(exit_status_of({Kind::not_executed, ENOENT}) == 127);
  CHECK(exit_status_of({Kind::not_executed, EACCES}) == 126);
  CHECK(exit_status_of({Kind::not_executed, ENOEXEC}) == 126);
  CHECK(exit_status_of({Kind::not_started, ENOENT}) == 71);
  CHECK(exit_status_of({Kind::hung, 500}) == 124);
}

TEST_CASE("worker end: it is told with rank, process, host and how") {
  const auto told = [](WorkerEnd end) {
    return describe({"n1", Rank{5}, LocalRank{1}, 4242, end});
  };
  CHECK(told({Kind::exited, 3}) == "rank 5 (pid 4242 on n1) exited with 3");
  CHECK(told({Kind::killed, SIGSEGV}) == "rank 5 (pid 4242 on n1) was killed by SIGSEGV (11)");
  CHECK(told({Kind::not_executed, EACCES}) ==
        "rank 5 (pid 4242 on n1) could not be executed: Permission denied");
  CHECK(told({Kind::not_started, EMFILE}) ==
        "rank 5 on n1 could not be started: Too many open files");
}

TEST_CASE("worker end: a signal without a name has its number") {
  CHECK(signal_name(SIGINT) == "SIGINT (2)");
  CHECK(signal_name(SIGRTMIN + 3) == "signal " + std::to_string(SIGRTMIN + 3));
  CHECK(signal_name(1'000) == "signal 1000");
}

}  // namespace
}  // namespace ddprun
