#include "launcher/processes/command_run.hpp"

#include "tests/unit/temp_folder.hpp"

#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

namespace ddprun {
namespace {

constexpr Millis for_ever{3'600'000};

struct Runner {
  boost::asio::io_context context{1};
  Writer writer{context, [](const std::string& text) { FAIL_CHECK(text); }};
  CommandRun run{context, writer, sigset_t{}};
  std::optional<CommandRun::End> end;
  WorkerEnd ended;  // the last child

  void start(const std::string& script, Millis patience = for_ever) {
    end.reset();
    run.start({"/bin/sh", {"sh", "-c", script}}, {}, patience, [this](const CommandRun::End& how) {
      CHECK_FALSE(end.has_value());
      end = how;
    });
  }
  /// Waits for a child, and tells of it.
  void reap() {
    int status = 0;
    const int pid = ::wait(&status);
    REQUIRE(pid > 0);
    ended = worker_end_of(status);
    run.on_child({pid, ended});
    go_on();
  }
  /// Runs what is ready by now.
  void go_on() {
    context.restart();
    context.poll();
  }
  /// Whether nothing holds the pipes of a command any more, now or in a moment.
  bool is_alone_soon() {
    context.restart();
    context.run_for(std::chrono::seconds(10));
    return context.stopped();
  }

 private:
  static WorkerEnd worker_end_of(int status) {
    if (WIFEXITED(status)) return {WorkerEnd::Kind::exited, WEXITSTATUS(status)};
    return {WorkerEnd::Kind::killed, WTERMSIG(status)};
  }
};

TEST_CASE("command run: what it has printed, in one line, or why it has failed") {
  Runner runner;
  runner.start("echo ' one'; echo 'two '");
  runner.reap();
  REQUIRE(runner.end);
  CHECK(runner.end->success);
  CHECK(runner.end->text == "one two");
  runner.start("echo one; echo no luck >&2; exit 3");
  runner.reap();
  REQUIRE(runner.end);
  CHECK_FALSE(runner.end->success);
  CHECK(runner.end->text == "no luck");
  runner.start("kill -9 $$");
  runner.reap();
  REQUIRE(runner.end);
  CHECK(runner.end->text == "SIGKILL (9)");
}

TEST_CASE("command run: one that cannot be executed has failed with the status that says so") {
  Runner runner;
  for (int i = 0; i < 20; ++i) {
    runner.end.reset();
    runner.run.start({"/no/such/program", {"program"}}, {}, for_ever, [&](const auto& how) {
      runner.end = how;
    });
    runner.reap();
    REQUIRE(runner.end);
    CHECK_FALSE(runner.end->success);
    CHECK(runner.end->text == "exit status 127");
  }
}

TEST_CASE(
    "command run: one that does not end in time has failed, is heard of once, and is killed") {
  Runner runner;
  runner.start("exec sleep 60", Millis{0});
  runner.go_on();
  REQUIRE(runner.end);
  CHECK_FALSE(runner.end->success);
  CHECK(runner.end->text == "no answer");
  runner.reap();
  CHECK(runner.ended == WorkerEnd{WorkerEnd::Kind::killed, SIGKILL});
}

TEST_CASE("command run: one that still runs is killed for the next one, with what it has started") {
  const TempFolder folder;
  const std::string begun = folder.at("begun");
  Runner runner;
  runner.start("sleep 60 & : >" + begun + "; wait");
  while (!std::filesystem::exists(begun)) std::this_thread::yield();
  runner.start("echo second");
  runner.reap();
  runner.reap();
  REQUIRE(runner.end);
  CHECK(runner.end->text == "second");
  CHECK(runner.is_alone_soon());
}

TEST_CASE("command run: the time that one has used up is not the next one's") {
  Runner runner;
  runner.start("exit 1", Millis{0});
  boost::asio::post(runner.context, [&] { runner.start("echo second"); });
  runner.go_on();
  CHECK_FALSE(runner.end.has_value());
  runner.reap();
  if (!runner.end) runner.reap();  // the first one was killed
  REQUIRE(runner.end);
  CHECK(runner.end->text == "second");
  while (::wait(nullptr) > 0) continue;
}

}  // namespace
}  // namespace ddprun
