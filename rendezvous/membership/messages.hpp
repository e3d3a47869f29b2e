// The messages between an agent and the coordinator on another node.
#pragma once

#include "rendezvous/generations/coordinator_events.hpp"
#include "rendezvous/lease.hpp"
#include "rendezvous/membership/outbox.hpp"
#include "rendezvous/succession/ballots.hpp"
#include "rendezvous/units.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

constexpr std::size_t relayed_max = 1'024;  ///< Agents whose heartbeats go through one relay.

/// Drawn at random by a process for its agent, its guard and the coordinators that admit the agent.
/// All zero: it leaves no will.
using AgentSecret = std::array<std::uint8_t, 16>;

/// The first message on a connection, and again when a new life begins on it.
struct Hello {
  Incarnation from;
  std::string host;
  std::optional<NodeId> node;  ///< Its place in the order of nodes, if it was given one.
  int nodes_min = 1;           ///< As it was told; the same on all nodes.
  int nodes_max = 1;
  Millis dead_after = LeaseTimes{}.dead_after;
  AgentId coordinator = 0;  ///< The one that has admitted this life; 0: none yet.
  bool any_place = false;   ///< `node` came from a coordinator, and may change if it is taken.
  std::string contact;      ///< Where it listens itself.
  Epoch knows;              ///< The highest epoch of a coordinator that it has followed.
  /// Its leader listened at this address, and no process can be elected without it; or it has
  /// heard of that leader, and no leader has ever admitted it.
  bool orphaned = false;
  bool witness = false;  ///< It has no workers, and no place among the nodes: it only votes.
  Epoch mark;  ///< Of a job of this name that has not ended on its node; 0: there is none.
  AgentSecret secret{};
  friend bool operator==(const Hello&, const Hello&) = default;
};
struct Heartbeat {
  std::int64_t number = 0;    ///< Grows with each one of a life.
  std::int64_t received = 0;  ///< The newest instruction that has arrived.
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};
struct RelayedBeat {
  Incarnation from;
  Heartbeat heartbeat;
  friend bool operator==(const RelayedBeat&, const RelayedBeat&) = default;
};
/// To the agent's relay, which passes it on if it follows the same leader.
struct BeatForRelay {
  AgentId leader = 0;
  Epoch reign;
  RelayedBeat relayed;
  friend bool operator==(const BeatForRelay&, const BeatForRelay&) = default;
};
/// From a relay.
struct BeatBatch {
  std::vector<RelayedBeat> beats;
  friend bool operator==(const BeatBatch&, const BeatBatch&) = default;
};
/// The agent's process has ended, and with it all that it had started on its node. Its guard says
/// so, or its own last words do. It is believed under the secret of the agent's Hello alone.
struct Will {
  AgentId agent = 0;
  AgentSecret secret{};
  friend bool operator==(const Will&, const Will&) = default;
};
/// To the agent of a node from which connections came to a store: whose are they? Only the kernel
/// there knows.
struct OwnersAsked {
  static constexpr std::size_t connections_max = 256;
  std::int64_t number = 0;                ///< The answer has the same.
  std::vector<IpConnection> connections;  ///< As the store sees them.
  friend bool operator==(const OwnersAsked&, const OwnersAsked&) = default;
};
/// A ballot is for the succession, a BeatForRelay for the relay, OwnersAsked for the process's own
/// kernel: none of them needs a Hello before it, nor does a Will, whose sender is no agent.
using ToCoordinator = std::
    variant<Hello, Heartbeat, Numbered<News>, BeatBatch, Will, BeatForRelay, OwnersAsked, Ballot>;

/// The answer to a Hello: heartbeats and news are taken from now on.
struct Welcome {
  Leader leader;
  NodeId node;      ///< Its place in the order of nodes.
  Voters voters;    ///< To be asked when this leader is lost.
  RecordId record;  ///< The record that names them.
  friend bool operator==(const Welcome&, const Welcome&) = default;
};
/// The answer of a process that does not lead.
struct Redirect {
  std::optional<Leader> leader;  ///< The leader, if it knows one.
  friend bool operator==(const Redirect&, const Redirect&) = default;
};
/// The answer to each heartbeat.
struct Ack {
  std::int64_t answers = 0;   ///< The number of the heartbeat.
  std::int64_t received = 0;  ///< The newest news that has arrived.
  Millis lead;                ///< For this time no other process can lead the job.
  friend bool operator==(const Ack&, const Ack&) = default;
};
/// From now on heartbeats may go through the agent that listens there; empty: through none.
struct UseRelay {
  std::string address;
  friend bool operator==(const UseRelay&, const UseRelay&) = default;
};
struct RelayedAck {
  Incarnation to;
  Ack ack;
  friend bool operator==(const RelayedAck&, const RelayedAck&) = default;
};
/// To a relay, the answer to a BeatBatch.
struct AckBatch {
  std::vector<RelayedAck> acks;
  friend bool operator==(const AckBatch&, const AckBatch&) = default;
};
/// The leader's answer, from a relay.
struct AckFromRelay {
  Ack ack;
  friend bool operator==(const AckFromRelay&, const AckFromRelay&) = default;
};
/// Of each connection, in their order, why its process is neither the job's user's nor root's.
/// Empty: it is one of theirs.
struct OwnersTold {
  std::int64_t number = 0;
  std::vector<std::string> objections;
  friend bool operator==(const OwnersTold&, const OwnersTold&) = default;
};
/// This life was declared lost: its workers must end, and a new life may begin.
struct Forgotten {
  Incarnation who;
  Leader by;
  friend bool operator==(const Forgotten&, const Forgotten&) = default;
};
/// This agent cannot take part.
struct Refused {
  std::string why;
  /// If another agent has its place: how long the other has been silent, as far as this coordinator
  /// knows. The other may be an earlier agent of this node, lost soon. Nothing: waiting does not
  /// help.
  std::optional<Millis> holder_silent;
  Leader by;
  friend bool operator==(const Refused&, const Refused&) = default;
};
/// An instruction for the node.
using Instruction = std::variant<StartGeneration, StopGeneration, FinishJob, SaveGeneration>;
using ToAgent = std::variant<Welcome,
                             Redirect,
                             VotersChanged,
                             Ack,
                             Forgotten,
                             Refused,
                             Numbered<Instruction>,
                             UseRelay,
                             AckBatch,
                             AckFromRelay,
                             OwnersTold>;

}  // namespace ddprun
