// The user at the other end of a TCP connection within this machine, as the kernel knows him: by
// NETLINK_SOCK_DIAG, see sock_diag(7).
#pragma once

#include "rendezvous/ip_network.hpp"

#include <sys/types.h>

#include <optional>

namespace ddprun {

/// The user who made the socket at `peer` that is connected to `local`. Nothing if no process of
/// this network namespace holds such a socket: then the peer is on another machine or in a
/// container, or has closed. Throws std::system_error if the kernel does not answer.
[[nodiscard]] std::optional<uid_t> owner_of_local_peer(const IpEndpoint& local,
                                                       const IpEndpoint& peer);

}  // namespace ddprun
