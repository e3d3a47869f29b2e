// Carries ballots to other processes of the job. A ballot may get lost; so nothing waits for one,
// and a connection that may be dead is replaced at once.
//
// Bounds
//   `lines_max` connections, of which a new one replaces the oldest; `waiting_max` ballots for a
//   connection that is being made, of which a new one replaces the oldest.
#pragma once

#include "rendezvous/succession/ballots.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/wire/agent_client.hpp"
#include "rendezvous/wire/credentials.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <deque>
#include <map>
#include <string>

namespace ddprun {

class Courier {
 public:
  static constexpr std::size_t lines_max = 64;
  static constexpr std::size_t waiting_max = 8;

  Courier(boost::asio::io_context& context, const Credentials& credentials);

  /// `address` is "HOST:PORT"; nothing happens where it is not, or nobody answers there.
  void send(const std::string& address, const Ballot& ballot);

 private:
  struct Line {
    ConnectionId id;
    bool up = false;
    Instant opened;
    std::deque<Ballot> waiting;
  };

  void open(const std::string& address, Line& line);
  void make_room();
  void on_up(ConnectionId id);
  void on_down(ConnectionId id);

  std::map<std::string, Line> lines_;  // by address
  ConnectionId connections_;
  AgentClient client_;
};

}  // namespace ddprun
