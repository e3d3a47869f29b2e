// An agent's way to the coordinator through a relay: which one, and whether it answers.
//
// The agent's own connection to the coordinator stays, for all other messages. Its heartbeats go
// through the relay alone only while both answer: the relay within a quarter of the lease, before
// a silence is doubted, and its own connection within `proof_max` intervals, since a connection
// that carries nothing may die unseen.
#pragma once

#include "rendezvous/lease.hpp"
#include "rendezvous/units.hpp"

#include <optional>
#include <string>

namespace ddprun {

class RelayPath {
 public:
  static constexpr int proof_max = 64;

  explicit RelayPath(LeaseTimes times) : times_(times) {}

  /// Uses the relay at `address`, none if that is empty. Returns the connection to end; 0: none.
  [[nodiscard]] ConnectionId assign(Instant now, const std::string& address);

  /// When to connect; nothing while there is a connection, or no relay.
  [[nodiscard]] std::optional<Instant> connect_at() const { return connect_at_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  void connecting(ConnectionId connection);

  /// Whether `connection` leads to the relay.
  [[nodiscard]] bool has(ConnectionId connection) const {
    return connection != ConnectionId{} && connection == connection_;
  }
  void up() { is_up_ = true; }
  /// It tries again after `dead_after`.
  void down(Instant now);

  /// An answer came through the relay.
  void answered(Instant now) { answered_ = now; }
  /// An answer came over the agent's own connection.
  void proven(Instant now) { proven_ = now; }

  /// The connection over which a heartbeat may go; nothing if none may.
  [[nodiscard]] std::optional<ConnectionId> line(Instant now) const;
  /// Whether the coordinator need not get it otherwise, too.
  [[nodiscard]] bool suffices(Instant now) const;

  friend bool operator==(const RelayPath&, const RelayPath&) = default;

 private:
  LeaseTimes times_;
  std::string address_;
  ConnectionId connection_;
  bool is_up_ = false;
  std::optional<Instant> connect_at_;
  std::optional<Instant> answered_;
  std::optional<Instant> proven_;
};

}  // namespace ddprun
