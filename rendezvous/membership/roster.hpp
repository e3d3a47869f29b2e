// The coordinator's side of all connections from agents: their names, and whether they are alive.
//
// A node is lost by `dead_after` without a heartbeat, when its lease is over and its workers are
// certainly dead, or by its agent's will, which says that they are. The end of a connection may
// have any cause. From a loss on, messages of that life are ignored; the agent is told to begin
// another one.
//
// In a job of more than `RelayOptions::above` agents, one of each group of neighbours is the relay
// of the others: it passes on their heartbeats, and the answers. Nothing else changes.
//
// Invariants
//   O1  Between the events of a node that are passed on, one life ends (NodeLost) before another's
//       begin; of a life that is lost nothing is passed on.
//   O2  An ack goes only to a life that is not lost, so that no lease outlives `dead_after`.
//   O3  Of each life, the agent hears all instructions once and in order.
//   O4  Two agents never have the same place in the order of nodes at once; a member of an
//       inherited generation keeps its own.
//   O5  A life is lost if another coordinator, which this one replaces, had admitted it; or
//       if this one had, and another node has its place by now.
//   O6  No ack says that it leads for longer than it was told.
//   O7  Of an agent that this coordinator has admitted, a Hello or a will counts only under the
//       secret of the first Hello. A will ends all of its lives.
// Bounds
//   `agents_max` agents; lost ones are forgotten when there are as many. One connection each, the
//   newest.
#pragma once

#include "rendezvous/lease.hpp"
#include "rendezvous/membership/messages.hpp"
#include "rendezvous/membership/outbox.hpp"
#include "rendezvous/succession/lead.hpp"
#include "rendezvous/units.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

/// Of the nodes' heartbeats in a large job: groups of neighbours send theirs through one of them.
struct RelayOptions {
  std::size_t above = 256;  ///< Up to this many agents send theirs to the coordinator itself.
  int group_min = 32;       ///< Places of a group; doubled while there are more than relays_max.
  int relays_max = 64;      ///< Groups, each with one relay.
  friend bool operator==(const RelayOptions&, const RelayOptions&) = default;
};

struct RosterOptions {
  Leader leader;  ///< The coordinator, as agents are told; its number is not 0.
  LeaseTimes times;
  /// Of the agent in the coordinator's own process: no other agent gets it. Nothing: that agent is
  /// a member like the others, or a witness.
  std::optional<NodeId> own_node = NodeId{0};
  int nodes_min = 1;  ///< As each agent must have been told, too.
  int nodes_max = 1;
  int nodes_all = 0;  ///< Nodes that may take part, spares included; 0: any number.
  std::size_t agents_max = nodes_limit;
  RelayOptions relays;
  friend bool operator==(const RosterOptions&, const RosterOptions&) = default;
};

struct Received {
  SessionId session;
  ToCoordinator message;
};
struct SessionClosed {
  SessionId session;
};
/// The coordinator's message to a node; without effect if the node is lost.
struct Instruct {
  Instruction instruction;
};
using RosterEvent =
    std::variant<Received, SessionClosed, Instruct, LeadChanged, VotersChanged, Timeout>;

struct SendDown {
  SessionId session;
  ToAgent message;
};
/// To the coordinator.
struct Report {
  CoordinatorEvent event;
};
struct CloseSession {
  SessionId session;
  std::string why;  ///< For users; may be empty.
};
using RosterAction = std::variant<SendDown, Report, CloseSession>;

class Roster {
 public:
  /// Agents that were not given a place in the order of nodes get the next one when they come.
  Roster(RosterOptions options, Instant now) : options_(options), ticked_(now) {}

  /// After an election: members of the last generation are given up like silent agents if they do
  /// not come, the old head as if it had been heard at `old_head_heard`. With a `legacy` the old
  /// head and those that are gone are leaving. Call once, before any event.
  void inherit(Instant now,
               const Generation& record,
               Instant old_head_heard,
               const std::optional<Legacy>& legacy = {});

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws; total.
  void on_event(Instant now, const RosterEvent& event, std::vector<RosterAction>& out);

  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// Whether every agent that lives has confirmed all that it was told.
  [[nodiscard]] bool all_told() const;

  friend bool operator==(const Roster&, const Roster&) = default;

 private:
  using Actions = std::vector<RosterAction>;
  /// The places of witnesses are behind those of all nodes.
  static constexpr NodeId first_witness{1'000'000};
  struct Peer {
    std::uint32_t life = 0;
    NodeId node;
    std::string host;
    std::string contact;
    bool witness = false;
    SessionId session;  // 0: none at the moment
    Instant heard;
    Instant patience_from;  // `heard`, plus the time this coordinator was suspended
    bool lost = false;
    bool leaves = false;  // it has asked to, in this life
    bool ended = false;   // the process, by its will: no life of it comes back
    AgentSecret secret{};
    Outbox<Instruction> outbox;
    Inbox inbox;
    Instant sent;         // when the whole outbox was sent last
    bool leased = false;  // it has had an answer that gave it a lease
    std::string relay;    // that it was told of in this session; empty: none
    friend bool operator==(const Peer&, const Peer&) = default;
  };
  struct Speaker {
    AgentId agent = 0;
    std::uint32_t life = 0;
    friend bool operator==(const Speaker&, const Speaker&) = default;
  };

  void on(Instant now, const Received& received, Actions& out);
  void on(Instant now, const SessionClosed& closed, Actions& out);
  void on(Instant now, const Instruct& instruct, Actions& out);
  void on(Instant now, const LeadChanged& lead, Actions& out);
  void on(Instant now, const VotersChanged& changed, Actions& out);
  void on(Instant now, const Timeout& timeout, Actions& out);
  void hear(Instant now, SessionId session, const Hello& hello, Actions& out);
  void hear(Instant now, SessionId session, const Heartbeat& heartbeat, Actions& out);
  void hear(Instant now, SessionId session, const Numbered<News>& news, Actions& out);
  void hear(Instant now, SessionId session, const BeatBatch& batch, Actions& out);
  void hear(Instant now, SessionId session, const Will& will, Actions& out);
  void hear(Instant, SessionId, const Ballot&, Actions&) {}        // it is the succession's
  void hear(Instant, SessionId, const BeatForRelay&, Actions&) {}  // it is the relay's
  void hear(Instant, SessionId, const OwnersAsked&, Actions&) {}   // it is the process's own
  [[nodiscard]] Ack answer(Instant now, Peer& peer, const Heartbeat& heartbeat) const;
  void name_relays(Actions& out);
  [[nodiscard]] int group_size() const;

  void lose(Peer& peer, std::string why, Actions& out);
  [[nodiscard]] Peer* speaker(SessionId session, Actions& out);
  [[nodiscard]] AgentId agent_in(SessionId session) const;
  [[nodiscard]] const Peer* living_on(NodeId node) const;
  [[nodiscard]] bool is_reserved_from(const Hello& hello, NodeId node) const;
  [[nodiscard]] NodeId place_for(const Hello& hello) const;
  [[nodiscard]] std::optional<Refused> reason_against(Instant now,
                                                      const Hello& hello,
                                                      NodeId node) const;
  [[nodiscard]] std::string contradiction(const Hello& hello) const;
  [[nodiscard]] Peer* admit(Instant now, SessionId session, const Hello& hello, Actions& out);
  void forget_lost();
  [[nodiscard]] const Peer* most_silent_of_all(Instant now, const Hello& hello) const;
  void keep_alive(Instant now, Peer& peer) const;
  void refuse(SessionId session, Refused refusal, Actions& out) const;
  [[nodiscard]] NodeId next_place(const Hello& hello) const;
  static void resend(Instant now, Peer& peer, Actions& out);

  RosterOptions options_;
  std::map<AgentId, Peer> peers_;
  std::map<NodeId, AgentId> places_;
  std::map<SessionId, Speaker> speakers_;
  Voters voters_;
  RecordId voters_of_;
  Instant lead_end_ = Lead::forever;
  Instant ticked_;
  bool names_relays_ = false;  // there were many agents once
  bool regroups_ = false;      // at the next tick
};

}  // namespace ddprun
