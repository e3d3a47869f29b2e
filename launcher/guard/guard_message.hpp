// What the agent tells its guard and its fence. All three are forks of one process, so that a
// message is the bytes of a value, by a socketpair that keeps messages apart. The guard sends the
// agent the signals that it has got, a byte each, by the same socketpair.
#pragma once

#include "launcher/guard/lease_watch.hpp"

#include <sys/types.h>

#include <array>
#include <variant>

namespace ddprun {

/// Whom to tell if the agent dies: ADDRESS:PORT, or nobody. The newest counts.
struct WillAddress {
  std::array<char, 64> text{};  ///< Ended by a zero byte.
};

using GuardMessage = std::variant<GuardedLease, WillAddress>;

/// Never waits: dropped if the other side's queue is full, or it is dead.
void send(int socket, const GuardMessage& message);

/// Sends it by the guard's and the fence's socketpair, of which these are the agent's ends; -1:
/// there is none.
void send_to_both(int guard_socket, int fence_line, const GuardedLease& lease);

/// As recv(2) with these flags: 0 at the other side's end, once all that it has sent was received.
/// `message` changes if one has come.
ssize_t receive(int socket, int flags, GuardMessage& message);

}  // namespace ddprun
