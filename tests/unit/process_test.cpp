#include "launcher/process.hpp"

#include "launcher/clock.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/wait.h>

namespace ddprun {
namespace {

/// Starts `touch` of that file under such a lease; its status.
int touch_under(std::optional<Instant> lease_end, const std::string& file) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ExecFailures failures;
  SpawnContext context;
  context.user_files_max = 1024;
  context.null_fd = null.get();
  context.exec_failures_fd = failures.write_end();
  context.lease_end = lease_end;
  const Command command{"/bin/touch", {"touch", file}};
  const WorkerProcess worker = spawn_worker(context, command, {}, WorkerPlace{});
  int status = 0;
  REQUIRE(::waitpid(worker.pid, &status, 0) == worker.pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("process: nothing is executed once the lease is over") {
  const TempFolder folder;
  CHECK(touch_under(std::nullopt, folder.at("without")) == 0);
  CHECK(touch_under(now() + Millis{60'000}, folder.at("within")) == 0);
  CHECK(touch_under(now(), folder.at("after")) != 0);
  CHECK(std::filesystem::exists(folder.at("without")));
  CHECK(std::filesystem::exists(folder.at("within")));
  CHECK_FALSE(std::filesystem::exists(folder.at("after")));
}

}  // namespace ddprun
