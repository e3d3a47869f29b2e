// The user at the other end of a TCP connection within this machine, as the kernel knows him: by
// NETLINK_SOCK_DIAG, see sock_diag(7).
#pragma once

#include "rendezvous/ip_network.hpp"

#include <sys/types.h>

#include <optional>
#include <string>

namespace ddprun {

/// The user who made the socket at `peer` that is connected to `local`. Nothing if no process of
/// this network namespace holds such a socket: then the peer is on another machine or in a
/// container, or has closed. Throws std::system_error if the kernel does not answer.
[[nodiscard]] std::optional<uid_t> owner_of_local_peer(const IpEndpoint& local,
                                                       const IpEndpoint& peer);

/// Whether the kernel tells so at all, as one built without INET_DIAG does not: it knows of our
/// socket that listens at `listening`.
[[nodiscard]] bool kernel_tells_owners(const IpEndpoint& listening);

/// Why the process on this machine at `peer`, which has connected to `local`, is none of this
/// user's, as in "store: refused 127.0.0.1, <this>"; empty: it is. One that has closed
/// its end is refused, since the kernel has forgotten its user, while what it sent can still be
/// read.
[[nodiscard]] std::string objection_to_owner(const IpEndpoint& local, const IpEndpoint& peer);

}  // namespace ddprun
