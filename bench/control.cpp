// Processor time that DDPRUN_CONTROL_FD costs a training: of a step, for telling it and its loss
// and for looking whether ddprun asks for something, and of a line, with its reader's part.
#include "ddprun/control.hpp"

#include "bench/measure.hpp"

#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace {

constexpr int rounds_count = 1'000'000;

void measure(const char* what, const std::function<void(int round)>& act) {
  const double before = ddprun::bench::cpu_s();
  for (int round = 1; round <= rounds_count; ++round) act(round);
  std::printf("%s: %.0f ns\n", what, 1e9 * (ddprun::bench::cpu_s() - before) / rounds_count);
}

}  // namespace

int main() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 1;
  setenv("DDPRUN_CONTROL_FD", std::to_string(ends[1]).c_str(), 1);
  ddprun::worker::Control control;
  int requests_count = 0;
  measure("a step", [&](int round) {
    control.metric("loss", round);
    control.finished_step(round);
    if (control.save_asked() || control.stop_step()) ++requests_count;
  });
  measure("a line", [&](int round) {
    control.saved(round);
    std::array<char, 256> line{};
    if (recv(ends[0], line.data(), line.size(), 0) < 0) std::abort();
  });
  return requests_count;
}
