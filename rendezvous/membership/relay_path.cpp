#include "rendezvous/membership/relay_path.hpp"

#include <utility>

namespace ddprun {

ConnectionId RelayPath::assign(Instant now, const std::string& address) {
  if (address == address_) return {};
  address_ = address;
  is_up_ = false;
  answered_.reset();
  connect_at_.reset();
  if (!address.empty()) connect_at_ = now;
  return std::exchange(connection_, {});
}

void RelayPath::connecting(ConnectionId connection) {
  connection_ = connection;
  connect_at_.reset();
}

void RelayPath::down(Instant now) {
  connection_ = {};
  is_up_ = false;
  answered_.reset();
  connect_at_ = now + times_.dead_after;
}

std::optional<ConnectionId> RelayPath::line(Instant now) const {
  const bool is_proven = proven_ && now - *proven_ <= times_.heartbeat * proof_max;
  if (!is_up_ || !is_proven) return std::nullopt;
  return connection_;
}

bool RelayPath::suffices(Instant now) const {
  return line(now) && answered_ && now - *answered_ <= times_.lease / 4;
}

}  // namespace ddprun
