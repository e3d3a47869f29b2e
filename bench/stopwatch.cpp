// Runs a command and prints its cost to file descriptor 3: wall time in seconds, peak resident
// memory of its largest process in KiB, and its exit status. A program of its own because a shell
// needs as long to measure as some of these commands take, and because a process inherits the
// peak of the process that made it: this one's is small.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace {

double now_s() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: stopwatch COMMAND [ARGUMENTS...] 3>REPORT\n");
    return 2;
  }
  const double start_s = now_s();
  const pid_t child = fork();
  if (child < 0) {
    std::perror("stopwatch: fork");
    return 71;
  }
  if (child == 0) {
    close(3);
    execvp(argv[1], argv + 1);
    std::perror(argv[1]);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) {
    std::perror("stopwatch: wait4");
    return 71;
  }
  const double wall_s = now_s() - start_s;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  dprintf(3, "%.6f %ld %d\n", wall_s, usage.ru_maxrss, code);
  return code;
}
