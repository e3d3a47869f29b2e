// A worker that only says when it began and when it ended, in nanoseconds of CLOCK_MONOTONIC:
//   start GENERATION RANK TIME
//   exit GENERATION RANK TIME
// In the first generation rank 0 fails, DELAY_MS after every rank has begun, and the others wait to
// be stopped. In the next one all end at once.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int number(const char* text) {
  return text == nullptr ? 0 : std::atoi(text);
}

void wait_ms(int milliseconds) {
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  nanosleep(&time, nullptr);
}

/// Lines in the file that the ranks write, as long as all were written at once.
int count_lines(const char* path) {
  static char bytes[1 << 16];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = read(file, bytes, sizeof bytes);
  close(file);
  int lines = 0;
  for (ssize_t i = 0; i < size; ++i) lines += bytes[i] == '\n' ? 1 : 0;
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t start_ns = now_ns();
  if (argc != 3) {
    std::fprintf(stderr, "usage: stamp FILE DELAY_MS\n");
    return 2;
  }
  const int generation = number(std::getenv("TORCHELASTIC_RESTART_COUNT"));
  const int rank = number(std::getenv("RANK"));
  const int world_size = number(std::getenv("WORLD_SIZE"));
  const int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const auto say = [&](const char* what, std::int64_t time_ns) {
    dprintf(file, "%s %d %d %lld\n", what, generation, rank, static_cast<long long>(time_ns));
  };
  say("start", start_ns);
  if (generation > 0) return 0;
  if (rank != 0) {
    pause();
    return 0;
  }
  while (count_lines(argv[1]) < world_size) wait_ms(1);
  wait_ms(number(argv[2]));
  say("exit", now_ns());
  return 1;
}
