// The connections that carry ballots to other processes of the job, one for each address. A pure
// state machine.
//
// A ballot may get lost, and its sender goes on without an answer. So no attempt is repeated until
// the next ballot for that address; then a connection that may be dead is replaced.
//
// States, of each connection
//   being made   ballots wait; the first one after `ballot_connect_patience` replaces it
//   up           ballots are sent; the first one after `ballot_line_age_max` replaces it
//   down         forgotten, with the ballots that waited
// Invariants
//   F1  An address has at most one connection.
//   F2  No id is used twice.
// Bounds
//   `lines_max` connections, of which a new one replaces the oldest; `waiting_max` ballots for a
//   connection that is being made, of which a new one replaces the oldest.
#pragma once

#include "rendezvous/membership/uplink.hpp"
#include "rendezvous/succession/succession_events.hpp"
#include "rendezvous/units.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

/// What is to be sent, and what became of the connections that BallotLines asked for. Events of one
/// that it has replaced have no effect.
using BallotLineEvent = std::variant<SendBallot, ConnectionUp, ConnectionDown>;
/// Each Connect has a new id. ConnectionUp or ConnectionDown may follow.
using BallotLineAction = std::variant<Connect, Disconnect, SendUp>;

class BallotLines {
 public:
  static constexpr std::size_t lines_max = 64;
  static constexpr std::size_t waiting_max = 8;

  void on_event(Instant now, const BallotLineEvent& event, std::vector<BallotLineAction>& out);

 private:
  using Actions = std::vector<BallotLineAction>;
  struct Line {
    ConnectionId id;
    bool up = false;
    Instant opened;
    std::deque<Ballot> waiting;
  };

  void on(Instant now, const SendBallot& send, Actions& out);
  void on(Instant now, const ConnectionUp& up, Actions& out);
  void on(Instant now, const ConnectionDown& down, Actions& out);

  void open(Instant now, const std::string& address, Line& line, Actions& out);
  void make_room(Actions& out);

  std::map<std::string, Line> lines_;  // by address
  ConnectionId newest_;
};

}  // namespace ddprun
