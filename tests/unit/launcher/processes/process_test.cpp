#include "launcher/processes/process.hpp"

#include "launcher/system/clock.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace ddprun {
namespace {

/// Runs it with this and more in its context; its status, 128 more than a signal that ended it.
int run_with(SpawnContext context, const Command& command) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  context.user_files_max = 1024;
  context.stdin_fd = null.get();
  const ChildProcess worker = spawn_process(context, {command, {}});
  int status = 0;
  REQUIRE(::waitpid(worker.pid, &status, 0) == worker.pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int touch_under(std::optional<Instant> lease_end, const std::string& file) {
  SpawnContext context;
  context.lease_end = lease_end;
  return run_with(context, {"/bin/touch", {"touch", file}});
}

}  // namespace

TEST_CASE("process: a mask has a bit for each core, in words of the kernel's") {
  CHECK(core_mask({}).empty());
  CHECK(core_mask({0, 3}) == std::vector<unsigned long>{9});
  CHECK(core_mask({1, 64, 130}) == std::vector<unsigned long>{2, 1, 4});
}

TEST_CASE("process: nothing is executed once the lease is over") {
  const TempFolder folder;
  CHECK(touch_under(std::nullopt, folder.at("without")) == 0);
  CHECK(touch_under(now() + Millis{60'000}, folder.at("within")) == 0);
  CHECK(touch_under(now(), folder.at("after")) != 0);
  CHECK(std::filesystem::exists(folder.at("without")));
  CHECK(std::filesystem::exists(folder.at("within")));
  CHECK_FALSE(std::filesystem::exists(folder.at("after")));
}

TEST_CASE("process: a program ignores the signals that it is to ignore, and no others") {
  SpawnContext context;
  sigaddset(&context.ignored_signals, SIGUSR1);
  const auto sends_itself = [](const char* signal) {
    return Command{"/bin/sh", {"sh", "-c", "kill -" + std::string(signal) + " $$; exit 7"}};
  };
  CHECK(run_with(context, sends_itself("USR1")) == 7);
  CHECK(run_with(context, sends_itself("USR2")) == 128 + SIGUSR2);
  CHECK(run_with({}, sends_itself("USR1")) == 128 + SIGUSR1);
}

TEST_CASE("process: of several children each one that was not executed says why") {
  ExecFailures failures;
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  SpawnContext context;
  context.user_files_max = 1024;
  context.stdin_fd = null.get();
  context.exec_failures_fd = failures.write_end();
  const ChildProcess missing = spawn_process(context, {{"/no/such/program", {"program"}}, {}});
  const ChildProcess executed = spawn_process(context, {{"/bin/true", {"true"}}, {}});
  const ChildProcess forbidden = spawn_process(context, {{"/dev/null", {"null"}}, {}});
  for (const ChildProcess* child : {&missing, &executed, &forbidden}) {
    REQUIRE(::waitpid(child->pid, nullptr, 0) == child->pid);
  }
  CHECK(failures.of(forbidden.pid) == EACCES);
  CHECK(failures.of(executed.pid) == 0);
  CHECK(failures.of(missing.pid) == ENOENT);
}

}  // namespace ddprun
