// The connections that carry ballots to other processes of the job. A pure state machine.
//
// A ballot may get lost; so nothing waits for one, and a connection that may be dead is replaced at
// once.
//
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

/// What is to be sent, and how the connections that it asked for fare. Events of a connection that
/// it has given up have no effect.
using BallotLineEvent = std::variant<SendBallot, ConnectionUp, ConnectionDown>;
/// Each Connect has a new id, and a ballot's own address. ConnectionUp or ConnectionDown follows,
/// or neither.
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
