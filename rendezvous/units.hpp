// Strong types for time and identity. There is no clock here: an Instant only ever comes from the
// caller, so that every decision can be tested and simulated.
#pragma once

#include <compare>
#include <cstdint>

namespace ddprun {

struct Millis {
  std::int64_t count = 0;
  auto operator<=>(const Millis&) const = default;
};

struct Instant {
  std::int64_t ms = 0;  ///< Since an arbitrary origin of the same machine.
  auto operator<=>(const Instant&) const = default;
};

constexpr Instant operator+(Instant at, Millis pause) {
  return {at.ms + pause.count};
}
constexpr Millis operator-(Instant later, Instant earlier) {
  return {later.ms - earlier.ms};
}
constexpr Millis operator+(Millis one, Millis other) {
  return {one.count + other.count};
}
constexpr Millis operator-(Millis one, Millis other) {
  return {one.count - other.count};
}
constexpr Instant operator-(Instant at, Millis pause) {
  return {at.ms - pause.count};
}
constexpr Millis operator*(Millis pause, std::int64_t factor) {
  return {pause.count * factor};
}
constexpr Millis operator/(Millis pause, std::int64_t divisor) {
  return {pause.count / divisor};
}

/// For people.
constexpr double in_seconds(Millis pause) {
  return static_cast<double>(pause.count) / 1000.0;
}

/// A node's place in the order of nodes, from 0.
struct NodeId {
  int value = 0;
  auto operator<=>(const NodeId&) const = default;
};

/// A process, not a node: one that is started again is another. Drawn at random by the process.
using AgentId = std::uint64_t;

/// One life of an agent. A new one begins with each start of the process, and when the coordinator
/// has declared the one before lost.
struct Incarnation {
  AgentId agent = 0;
  std::uint32_t life = 0;
  auto operator<=>(const Incarnation&) const = default;
};

/// A connection of this process, by whoever counts those of its kind, from 1; each number is used
/// once. 0 stands for "none".
struct ConnectionId {
  std::int64_t value = 0;
  auto operator<=>(const ConnectionId&) const = default;
  constexpr ConnectionId& operator++() {
    ++value;
    return *this;
  }
};

/// One that was accepted.
using SessionId = ConnectionId;

/// A worker's place among all workers of a generation: RANK.
struct Rank {
  int value = 0;
  auto operator<=>(const Rank&) const = default;
};

/// A worker's place among the workers of its node: LOCAL_RANK.
struct LocalRank {
  int value = 0;
  auto operator<=>(const LocalRank&) const = default;
};

/// The number of a generation, from 1. 0 stands for "none yet".
struct GenerationNumber {
  std::int64_t value = 0;
  auto operator<=>(const GenerationNumber&) const = default;
};

/// The number of a coordinator: of each epoch there is one at most. Who founds the job has 1, or
/// one more than the job had that it replaces, and 0 before it has made a generation; each election
/// takes a higher one.
struct Epoch {
  std::int64_t value = 0;
  auto operator<=>(const Epoch&) const = default;
};

}  // namespace ddprun
