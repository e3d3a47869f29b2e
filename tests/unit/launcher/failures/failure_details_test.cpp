#include "launcher/failures/failure_details.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <string>
#include <utility>

namespace ddprun {
namespace {

using Kind = WorkerEnd::Kind;

Outcome outcome_of(WorkerEnd end) {
  return {1, "text", WorkerFailure{"n0", Rank{3}, LocalRank{1}, 42, end}};
}

FailureFacts facts_with(std::deque<std::string> lines, std::string exception = {}) {
  return {std::move(lines), false, false, std::move(exception), {}, "./train"};
}

TEST_CASE("failure details: an end without a failure has no details") {
  CHECK(failure_details(Outcome{0, "all good", {}}, facts_with({"a"}, "b")).empty());
}

TEST_CASE("failure details: the failed worker's last lines, its error file and a hint") {
  FailureFacts facts = facts_with({"one", "", "three"});
  facts.error_file = "log/3.json";
  CHECK(failure_details(outcome_of({Kind::killed, SIGBUS}), facts) ==
        "  last lines of rank 3's stderr:\n"
        "  | one\n"
        "  | \n"
        "  | three\n"
        "  error file: log/3.json\n"
        "  hint: often a full /dev/shm: see df /dev/shm\n");
}

TEST_CASE(
    "failure details: what was shown already is not repeated, but for the line that tells most") {
  FailureFacts facts = facts_with({"Traceback", "ValueError: 3", " ", ""});
  facts.were_shown = true;
  CHECK(failure_details(outcome_of({Kind::exited, 1}), facts) ==
        "  last line of rank 3's stderr: ValueError: 3\n");
  facts.are_of_both = true;
  CHECK(failure_details(outcome_of({Kind::exited, 1}), facts) ==
        "  last line of rank 3's output: ValueError: 3\n");
  facts.exception = "ValueError: 3\n(of 4)\n";
  CHECK(failure_details(outcome_of({Kind::exited, 1}), facts) ==
        "  exception of rank 3:\n"
        "  | ValueError: 3\n"
        "  | (of 4)\n");
  facts.were_shown = false;
  CHECK(failure_details(outcome_of({Kind::exited, 1}), facts).find("| Traceback\n") !=
        std::string::npos);
}

TEST_CASE("failure details: an exception that the last lines end with is there once") {
  FailureFacts facts =
      facts_with({"Traceback", "ValueError: 3", "(of 4)"}, "ValueError: 3\n(of 4)");
  CHECK(failure_details(outcome_of({Kind::exited, 1}), facts) ==
        "  last lines of rank 3's stderr:\n"
        "  | Traceback\n"
        "  | ValueError: 3\n"
        "  | (of 4)\n");
  facts.last_lines.back() = "(of 5)";
  CHECK(failure_details(outcome_of({Kind::exited, 1}), facts).find("  exception of rank 3:\n") ==
        0);
}

TEST_CASE(
    "failure details: who was killed when memory ran out is told so, whatever the worker's end") {
  for (const WorkerEnd& end : {WorkerEnd{Kind::killed, SIGKILL}, WorkerEnd{Kind::exited, 1}}) {
    FailureFacts facts = facts_with({});
    facts.oom_kills = 2;
    CHECK(failure_details(outcome_of(end), facts) ==
          "  hint: memory ran out: the kernel killed 2 processes here; raise the job's memory "
          "limit\n");
  }
}

TEST_CASE("failure details: what there is not is not mentioned") {
  CHECK(failure_details(outcome_of({Kind::exited, 1}), facts_with({})).empty());
  FailureFacts blank = facts_with({"", " "});
  blank.were_shown = true;
  CHECK(failure_details(outcome_of({Kind::exited, 1}), blank).empty());
}

TEST_CASE("failure details: the surest hint is given, and what the kernel adds") {
  FailureFacts facts = facts_with({"RuntimeError: CUDA out of memory"});
  facts.were_shown = true;
  const auto hints_of = [&](WorkerEnd end) {
    const std::string text = failure_details(outcome_of(end), facts);
    return text.substr(std::min(text.find("  hint: "), text.size()));
  };
  CHECK(hints_of({Kind::exited, 1}).starts_with("  hint: the GPU's memory is full"));
  CHECK(hints_of({Kind::killed, SIGBUS}) == "  hint: often a full /dev/shm: see df /dev/shm\n");
  facts.exception = "OSError: [Errno 98] Address already in use";
  facts.core_pattern = "core";
  facts.driver_error = "NVRM: Xid (PCI:0000:3b:00): 79";
  const std::string hints = hints_of({Kind::killed, SIGABRT});
  CHECK(hints.starts_with("  hint: the program opens a port that is taken"));
  CHECK(
      hints.ends_with("\n  hint: a core was dumped, as core in the worker's folder (see core(5))\n"
                      "  hint: the GPU's driver wrote to the kernel's log: NVRM: Xid "
                      "(PCI:0000:3b:00): 79\n"));
}

TEST_CASE("failure details: a program that could not be executed is named") {
  CHECK(failure_details(outcome_of({Kind::not_executed, EACCES}), facts_with({})) ==
        "  program: ./train\n");
}

}  // namespace
}  // namespace ddprun
