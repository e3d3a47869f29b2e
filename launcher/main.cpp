// ddprun.
#include "launcher/commands/dispatch.hpp"
#include "launcher/commit.hpp"
#include "launcher/system/explain.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <exception>

namespace {

/// If ddprun is started with a standard stream closed, no pipe of its own may get that number.
void open_standard_streams() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  try {
    return ddprun::dispatch(
        {argv, argv + argc},
        {DDPRUN_VERSION, ddprun::commit, DDPRUN_COMPILER, DDPRUN_TESTED_LIBTORCH});
  } catch (const std::exception& error) {
    return ddprun::explain(error);
  }
}
