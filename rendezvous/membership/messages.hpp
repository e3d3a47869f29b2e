// What an agent and the coordinator of another node say to each other over a connection.
#pragma once

#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/membership/outbox.hpp"
#include "rendezvous/succession/ballots.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

/// The first message on a connection, and again when a new life begins on it.
struct Hello {
  Incarnation from;
  std::string host;
  std::optional<NodeId> node;  ///< Its place in the order of nodes, if it was given one.
  int nodes_min = 1;           ///< As it was told; the same on all nodes.
  int nodes_max = 1;
  Millis dead_after{4'000};
  AgentId coordinator = 0;  ///< Who has let this life in; 0: nobody yet.
  bool any_place = false;   ///< `node` came from a coordinator: another will do if it is taken.
  std::string contact;      ///< Where it listens itself.
  Epoch knows;              ///< The highest epoch of a coordinator that it has followed.
  /// It was led by a process that listened here, and without which nobody can be elected; or has
  /// heard of that one, and was never let in by any.
  bool orphaned = false;
  bool witness = false;  ///< It has no workers, and no place among the nodes: it only votes.
  Epoch mark;  ///< Of a job of this name that has not ended on its node; 0: there is none.
  friend bool operator==(const Hello&, const Hello&) = default;
};
struct Heartbeat {
  std::int64_t number = 0;    ///< Grows with each one of a life.
  std::int64_t received = 0;  ///< The newest instruction that has arrived.
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};
/// A ballot is for the succession, and needs no Hello before it.
using ToCoordinator = std::variant<Hello, Heartbeat, Numbered<News>, Ballot>;

/// The answer to a Hello: heartbeats and news are taken from now on.
struct Welcome {
  Leader leader;
  NodeId node;      ///< Its place in the order of nodes.
  Voters voters;    ///< Whom to ask when this leader is lost.
  RecordId record;  ///< That names them.
  friend bool operator==(const Welcome&, const Welcome&) = default;
};
/// The answer of a process that does not lead.
struct Redirect {
  std::optional<Leader> leader;  ///< Who does, if it knows.
  friend bool operator==(const Redirect&, const Redirect&) = default;
};
/// The answer to each heartbeat.
struct Ack {
  std::int64_t answers = 0;   ///< The number of the heartbeat.
  std::int64_t received = 0;  ///< The newest news that has arrived.
  Millis lead;                ///< For so long nobody else can lead the job.
  friend bool operator==(const Ack&, const Ack&) = default;
};
/// This life was declared lost: what it started must end, and a new life may begin.
struct Forgotten {
  Incarnation who;
  Leader by;
  friend bool operator==(const Forgotten&, const Forgotten&) = default;
};
/// This agent cannot take part.
struct Refused {
  static constexpr Millis for_ever{std::int64_t{1} << 60};

  std::string why;
  /// Where another agent has its place, for how long that one has been silent, `for_ever` if this
  /// coordinator has never heard it: it may be this one's predecessor, which is lost before long.
  /// Nothing: time changes nothing.
  std::optional<Millis> holder_silent;
  Leader by;
  friend bool operator==(const Refused&, const Refused&) = default;
};
/// What the node has to do.
using Instruction = std::variant<StartGeneration, StopGeneration, FinishJob>;
using ToAgent =
    std::variant<Welcome, Redirect, VotersChanged, Ack, Forgotten, Refused, Numbered<Instruction>>;

}  // namespace ddprun
