#include "ddprun/run.hpp"

#include <c10/util/Exception.h>
#include <doctest/doctest.h>

#include <csignal>
#include <iostream>
#include <sstream>

namespace ddprun::worker {
namespace {

struct RunOutcome {
  int status;
  std::string on_stderr;
};

/// What happens to a program that is called with two arguments and does `body`.
RunOutcome outcome_of(const std::function<void(const std::vector<std::string>&)>& body) {
  std::string words[] = {"program", "a", "b"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  std::ostringstream captured;
  std::streambuf* before = std::cerr.rdbuf(captured.rdbuf());
  const int status = run(3, argv, body);
  std::cerr.rdbuf(before);
  return {status, captured.str()};
}

TEST_CASE("run: a body that returns is a success, and has the arguments without the name") {
  std::vector<std::string> seen;
  const RunOutcome outcome =
      outcome_of([&](const std::vector<std::string>& words) { seen = words; });
  CHECK(outcome.status == 0);
  CHECK(outcome.on_stderr.empty());
  CHECK(seen == std::vector<std::string>{"a", "b"});
}

TEST_CASE("run: a file that grows beyond its limit does not end the program") {
  const auto before = std::signal(SIGXFSZ, SIG_DFL);
  CHECK(outcome_of([](const auto&) { static_cast<void>(std::raise(SIGXFSZ)); }).status == 0);
  static_cast<void>(std::signal(SIGXFSZ, before));
}

TEST_CASE("run: what escapes is one line on stderr, and a status") {
  const RunOutcome failed = outcome_of([](const auto&) { throw Error("no such file\nat all\n"); });
  CHECK(failed.status == 1);
  CHECK(failed.on_stderr == "error: no such file at all\n");

  const RunOutcome misused = outcome_of([](const auto&) { throw UsageError("say more"); });
  CHECK(misused.status == 2);
  CHECK(misused.on_stderr == "error: say more\n");

  const RunOutcome of_torch = outcome_of([](const auto&) { TORCH_CHECK(false, "wrong shape"); });
  CHECK(of_torch.status == 1);
  CHECK(of_torch.on_stderr == "error: wrong shape\n");
}

}  // namespace
}  // namespace ddprun::worker
