#include "launcher/node/report.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>

namespace ddprun {
namespace {

using Kind = WorkerEnd::Kind;

Outcome outcome_of(WorkerEnd end) {
  return {1, "text", WorkerFailure{"n0", Rank{3}, LocalRank{1}, 42, end}};
}

TEST_CASE("report: an end without a failure has no details") {
  CHECK(failure_details(Outcome{0, "all good", {}}, {"a"}, "file", "./train").empty());
}

TEST_CASE("report: the failed worker's last lines, its error file and a hint") {
  CHECK(failure_details(
            outcome_of({Kind::killed, SIGBUS}), {"one", "", "three"}, "log/3.json", "./train") ==
        "  last lines of rank 3's stderr:\n"
        "  | one\n"
        "  | \n"
        "  | three\n"
        "  error file: log/3.json\n"
        "  hint: often a full /dev/shm: see df /dev/shm\n");
}

TEST_CASE("report: what there is not is not mentioned") {
  CHECK(failure_details(outcome_of({Kind::exited, 1}), {}, "", "./train").empty());
}

TEST_CASE("report: only ends that need one have a hint") {
  for (const int signal : {SIGKILL, SIGBUS, SIGXCPU, SIGXFSZ}) {
    CHECK_FALSE(hint_for({Kind::killed, signal}).empty());
  }
  for (const int error : {ENOENT, ENOEXEC, E2BIG, EAGAIN}) {
    CHECK_FALSE(hint_for({Kind::not_executed, error}).empty());
  }
  for (const int error : {EMFILE, ENFILE, EAGAIN, ENOMEM}) {
    CHECK_FALSE(hint_for({Kind::not_started, error}).empty());
  }
  CHECK(hint_for({Kind::killed, SIGSEGV}).empty());
  CHECK(hint_for({Kind::not_started, ENOENT}).empty());
  CHECK(hint_for({Kind::not_executed, EIO}).empty());
  CHECK(hint_for({Kind::exited, SIGKILL}).empty());
  CHECK(hint_for({Kind::exited, ENOENT}).empty());
}

TEST_CASE("report: a program that could not be executed is named") {
  CHECK(failure_details(outcome_of({Kind::not_executed, EACCES}), {}, "", "./train") ==
        "  program: ./train\n");
}

}  // namespace
}  // namespace ddprun
