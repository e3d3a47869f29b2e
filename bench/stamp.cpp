// A worker that only says when it began and when it ended, in nanoseconds of CLOCK_BOOTTIME:
//   start GENERATION RANK TIME
//   exit GENERATION RANK TIME
// Generations are counted from 0. In that one RANK (else 0) fails, DELAY_MS after every rank has
// begun, and the others wait to be stopped; without DELAY_MS all wait. In the next one all end at
// once.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

constexpr int any_rank = -1;

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int number(const char* text) {
  return text == nullptr ? 0 : std::atoi(text);
}

void wait_ms(int milliseconds) {
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  nanosleep(&time, nullptr);
}

/// How often `rank` has begun, by the file that the ranks write.
int count_starts(const char* path, int rank) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  char line[128];
  int count = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    int who = 0;
    if (std::sscanf(line, "start %*d %d", &who) != 1) continue;
    count += rank == any_rank || rank == who ? 1 : 0;
  }
  std::fclose(file);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t start_ns = now_ns();
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: stamp FILE [DELAY_MS [RANK]]\n");
    return 2;
  }
  const int rank = number(std::getenv("RANK"));
  const int world_size = number(std::getenv("WORLD_SIZE"));
  // Agents of torchrun on other nodes than the failed worker's do not count a restart.
  const int generation =
      std::max(number(std::getenv("TORCHELASTIC_RESTART_COUNT")), count_starts(argv[1], rank));
  const int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const auto say = [&](const char* what, std::int64_t time_ns) {
    dprintf(file, "%s %d %d %lld\n", what, generation, rank, static_cast<long long>(time_ns));
  };
  say("start", start_ns);
  if (generation > 0) return 0;
  const bool fails = argc > 2 && rank == (argc > 3 ? number(argv[3]) : 0);
  if (!fails) {
    pause();
    return 0;
  }
  while (count_starts(argv[1], any_rank) < world_size) wait_ms(1);
  wait_ms(number(argv[2]));
  say("exit", now_ns());
  return 1;
}
