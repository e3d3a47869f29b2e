#include "launcher/processes/process.hpp"

#include "launcher/processes/descendants.hpp"
#include "launcher/system/clock.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <future>
#include <string>

namespace ddprun {
namespace {

/// Runs it with this and more in its context; its status, 128 more than a signal that ended it.
int run_once(SpawnContext context, const Command& command) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  context.user_files_max = 1024;
  context.stdin_fd = null.get();
  const ChildProcess worker = spawn_process(context, {command, {}});
  int status = 0;
  REQUIRE(::waitpid(worker.pid, &status, 0) == worker.pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The status is the same whether the child shares this process's memory or has a copy.
int run_with(SpawnContext context, const Command& command) {
  const int status = run_once(context, command);
  context.shares_memory = true;
  CHECK(run_once(context, command) == status);
  return status;
}

int touch_under(std::optional<Instant> lease_end, const std::string& file) {
  SpawnContext context;
  context.lease_end = lease_end;
  return run_with(context, {"/bin/touch", {"touch", file}});
}

/// Mounts a file system that answers nothing, in a new mount namespace of this thread.
bool mount_silent(const Fd& server, const std::string& folder) {
  const auto wishes = fmt::format("fd={},rootmode=40000,user_id=0,group_id=0", server.get());
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", folder.c_str(), "fuse", MS_NOSUID | MS_NODEV, wishes.c_str()) == 0;
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
  SUBCASE("with copies of this process's memory") {}
  SUBCASE("that share it") {
    context.shares_memory = true;
  }
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

TEST_CASE("process: a child with a copy of the memory holds up nobody, where its program hangs") {
  const TempFolder folder;
  Fd server(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  SpawnContext context;
  context.user_files_max = 1024;
  context.stdin_fd = null.get();
  const Command command{folder.at("program"), {"program"}};
  auto end = std::async(std::launch::async, [&]() -> std::optional<int> {
    if (!mount_silent(server, folder.path())) return std::nullopt;
    const ChildProcess child = spawn_process(context, {command, {}});
    ::kill(child.pid, SIGKILL);
    int status = 0;
    ::waitpid(child.pid, &status, 0);
    ::umount2(folder.path().c_str(), MNT_DETACH);
    return status;
  });
  // Else both stop to wait, so that this test ends in any case.
  const bool returned = end.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  if (!returned) kill_below(::getpid());
  server.reset();
  const std::optional<int> status = end.get();
  if (!status) {
    MESSAGE("a file system of one's own cannot be mounted here");
    return;
  }
  CHECK(returned);
  CHECK(WIFSIGNALED(*status));
}

}  // namespace ddprun
