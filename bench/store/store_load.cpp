// Plays one pattern against the store of process PID at 127.0.0.1:PORT, as patterns.hpp describes
// them, and prints its figures: lines of NAME and VALUE, in seconds, bytes and operations.
#include "bench/store/patterns.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace ddprun::bench {
namespace {

constexpr std::string_view usage =
    "usage: store_load PORT PID PATTERN [COUNT]\n"
    "patterns: closed CLIENTS, set, add, rendezvous CLIENTS, storm CLIENTS, value BYTES, "
    "idle CLIENTS\n";

Figures measure(const Target& target, std::string_view pattern, std::size_t count) {
  if (pattern == "closed") return closed_loop(target, count);
  if (pattern == "set") return pipelined_set(target);
  if (pattern == "add") return pipelined_add(target);
  if (pattern == "rendezvous") return rendezvous(target, count);
  if (pattern == "storm") return storm(target, count);
  if (pattern == "value") return large_value(target, count);
  if (pattern == "idle") return idle_memory(target, count);
  return {};
}

int run(int count, char** arguments) {
  if (count < 4) {
    fmt::print(stderr, "{}", usage);
    return 2;
  }
  const Target target{.port = static_cast<std::uint16_t>(std::atoi(arguments[1])),
                      .process = ServerProcess(std::atoi(arguments[2]))};
  const std::size_t size = count > 4 ? std::strtoull(arguments[4], nullptr, 10) : 1;
  const Figures figures = measure(target, arguments[3], size);
  if (figures.empty()) {
    fmt::print(stderr, "{}", usage);
    return 2;
  }
  for (const Measured& figure : figures) fmt::print("{} {:.9g}\n", figure.name, figure.value);
  return 0;
}

}  // namespace
}  // namespace ddprun::bench

int main(int count, char** arguments) {
  try {
    return ddprun::bench::run(count, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "store_load: {}\n", error.what());
    return 1;
  }
}
