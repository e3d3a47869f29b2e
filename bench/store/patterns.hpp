// The ways in which clients use a store: each is played against one, and its cost is returned.
#pragma once

#include "bench/store/server_process.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddprun::bench {

struct Target {
  std::uint16_t port = 0;
  ServerProcess process;
};

struct Measured {
  std::string name;
  double value = 0;
};
using Figures = std::vector<Measured>;

/// Each of `count` clients sets its key to 64 bytes, gets it, and begins again when it has the
/// answer. rate: operations a second, two for each answer. p50, p99: seconds from both requests,
/// which leave together, to the answer. cpu: the store's processor seconds for an operation.
[[nodiscard]] Figures closed_loop(const Target& target, std::size_t count);

/// 8 clients that send 64 sets at a time, and a get whose answer they wait for. rate, cpu.
[[nodiscard]] Figures pipelined_set(const Target& target);
/// The same with 64 adds, all of which are answered.
[[nodiscard]] Figures pipelined_add(const Target& target);

/// Each of `count` clients sets its key and waits for the keys of all. round: seconds from the
/// first set to the last answer, the median of some rounds. cpu: the store's processor seconds for
/// a round.
[[nodiscard]] Figures rendezvous(const Target& target, std::size_t count);

/// time: seconds from the first of `count` connections, all begun at once, until all have had an
/// answer.
[[nodiscard]] Figures storm(const Target& target, std::size_t count);

/// One client sets and gets a value of so many bytes. rate: bytes a second, both ways.
[[nodiscard]] Figures large_value(const Target& target, std::size_t bytes);

/// memory: by how many bytes the store's process grows for each of `count` connections that have
/// had an answer and are idle.
[[nodiscard]] Figures idle_memory(const Target& target, std::size_t count);

}  // namespace ddprun::bench
