// What a node's guard tells the coordinator when the agent process has died: the workers are gone
// too, and the others need not wait until the node's silence is long enough.
//
// Without it everything stays safe, and takes `dead_after`. So nothing is repeated, and a guard
// that cannot reach the coordinator says nothing.
#pragma once

#include "rendezvous/membership/messages.hpp"
#include "rendezvous/wire/credentials.hpp"

#include <string>
#include <utility>

namespace ddprun {

struct LastWill {
  static constexpr Millis patience{1'000};

  Will will;
  Credentials credentials;
};

/// Whether a process at `address` has taken it, within `patience`. Blocks that long at most.
/// REQUIRES: no process of the agent's is left.
bool deliver(const LastWill& last, const std::string& address);

/// The agent's side.
class WillNotice {
 public:
  /// The agent's end of the guard's socketpair, which stays the owner's.
  WillNotice(int guard_socket, LastWill last) : socket_(guard_socket), last_(std::move(last)) {}

  /// Who is to be told if this process dies; empty: nobody.
  void is_for(const std::string& address);

  /// In place of a guard that is lost, when no process is left but this one.
  void deliver_here() const { deliver(last_, address_); }

 private:
  int socket_;
  LastWill last_;
  std::string address_;
};

}  // namespace ddprun
