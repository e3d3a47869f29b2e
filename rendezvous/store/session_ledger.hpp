// Which connections of the store have said nothing, or only a part of a request, and which one of
// them has to go. The time comes with each call.
//
// Rules
//   L1  Connections are short: the oldest one that has never said anything. None from an address
//       where another one has spoken: the second connection of an old PyTorch client says nothing,
//       and that client spins on a core once it is closed.
//   L2  A request that was begun is whole after `request_time_max`, or its connection ends.
#pragma once

#include "rendezvous/ip_network.hpp"
#include "rendezvous/units.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace ddprun {

class SessionLedger {
 public:
  explicit SessionLedger(Millis request_time_max) : request_time_max_(request_time_max) {}

  /// `id` is larger than those before it.
  void on_opened(SessionId id, const IpAddress& from);
  void on_closed(SessionId id);

  /// Bytes have come from it: they have completed a request or more, or none; and another one is
  /// begun, or none.
  void on_bytes(SessionId id, bool have_completed, bool have_begun, Instant now);

  /// L1
  [[nodiscard]] std::optional<SessionId> oldest_silent() const;
  /// L2
  [[nodiscard]] std::optional<SessionId> overdue(Instant now) const;
  [[nodiscard]] std::optional<Instant> next_deadline() const;

 private:
  struct Session {
    IpAddress from;
    bool has_spoken = false;
    std::optional<Instant> begun;  // of a request that is not whole
  };
  struct Address {
    std::set<std::int64_t> sessions;
    bool has_spoken = false;  // one of them has
  };

  void note_spoken(SessionId id, Session& session);

  Millis request_time_max_;
  std::unordered_map<std::int64_t, Session> sessions_;
  std::map<IpAddress, Address> addresses_;
  std::set<std::int64_t> silent_;  // of the addresses where none has spoken
  std::set<std::pair<Instant, std::int64_t>> begun_;
};

}  // namespace ddprun
