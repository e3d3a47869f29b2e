// What an agent and the coordinator of another node say to each other over a connection.
#pragma once

#include "rendezvous/coordinator.hpp"
#include "rendezvous/outbox.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace ddprun {

/// The first message on a connection, and again when a new life begins on it.
struct Hello {
  Incarnation from;
  std::string host;
  std::optional<NodeId> node;  ///< Its place in the order of nodes, if it was given one.
  int nodes_min = 1;           ///< As it was told; the same on all nodes.
  int nodes_max = 1;
  Millis dead_after{4'000};
  std::uint64_t coordinator = 0;  ///< By whom this life was leased; 0: by nobody yet.
  friend bool operator==(const Hello&, const Hello&) = default;
};
struct Heartbeat {
  std::int64_t number = 0;    ///< Grows with each one of a life.
  std::int64_t received = 0;  ///< The newest instruction that has arrived.
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};
/// What happens on the node.
using News = std::variant<Join, WorkerFailed, WorkerSucceeded, StopRequested>;
using ToCoordinator = std::variant<Hello, Heartbeat, Numbered<News>>;

/// The answer to each heartbeat.
struct Ack {
  std::uint64_t coordinator = 0;  ///< Who answers.
  std::int64_t answers = 0;       ///< The number of the heartbeat.
  std::int64_t received = 0;      ///< The newest news that has arrived.
  Millis lead;                    ///< For so long nobody else can lead the job.
  friend bool operator==(const Ack&, const Ack&) = default;
};
/// This life was declared lost: what it started must end, and a new life may begin.
struct Forgotten {
  Incarnation who;
  friend bool operator==(const Forgotten&, const Forgotten&) = default;
};
/// This agent cannot take part.
struct Refused {
  std::string why;
  /// Where another agent has its place, for how long that one has been silent: it may be this
  /// one's predecessor, which is lost before long. Nothing: time changes nothing.
  std::optional<Millis> holder_silent;
  friend bool operator==(const Refused&, const Refused&) = default;
};
/// What the node has to do.
using Instruction = std::variant<StartGeneration, StopGeneration, FinishJob>;
using ToAgent = std::variant<Ack, Forgotten, Refused, Numbered<Instruction>>;

}  // namespace ddprun
