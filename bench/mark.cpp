// Writes a word and the time, in nanoseconds of CLOCK_BOOTTIME, at the end of a file and becomes
// the command: times of bench/stamp.cpp are counted from there.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: mark FILE WORD COMMAND [ARGUMENTS...]\n");
    return 2;
  }
  const int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  dprintf(file, "%s %lld\n", argv[2], time.tv_sec * 1'000'000'000LL + time.tv_nsec);
  execvp(argv[3], argv + 3);
  std::perror(argv[3]);
  return 127;
}
