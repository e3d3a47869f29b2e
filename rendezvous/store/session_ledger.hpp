// Which connections of the store have said nothing, or only a part of a request, which one of them
// has to go, and which addresses are of PyTorch 2.1.
//
// Rules
//   L1  Connections are short: the oldest one that has never said anything. None from an address
//       where another one has spoken: the second connection of an old PyTorch client says nothing,
//       and that client spins on a core once it is closed.
//   L2  The rest of a request that was begun comes before `request_looks_max` looks, or its
//       connection ends. The store takes a look each second between reads. While it is stopped or
//       starved it takes none, so a client has its time although nobody reads.
//   L3  An address is of PyTorch 2.1 while a connection from it that is of 2.1 is open.
//   L4  Connections are short, and some are held until it is known whose they are: the oldest of
//       these, of the address that has most of them.
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
  explicit SessionLedger(int request_looks_max) : request_looks_max_(request_looks_max) {}

  /// `id` is larger than those before it.
  void on_opened(SessionId id, const IpAddress& from);
  void on_closed(SessionId id);

  /// It is held before it is opened, by a number of its own, until it is let go.
  void on_held(SessionId held, const IpAddress& from);
  void on_let_go(SessionId held, const IpAddress& from);
  /// L4
  [[nodiscard]] std::optional<SessionId> most_crowded() const;

  /// Bytes have come from it: they have completed a request or more, or none; and another one is
  /// begun, or none.
  void on_bytes(SessionId id, bool have_completed, bool have_begun);

  /// A request is begun, and the store is ready to read more of it.
  void on_rest_awaited(SessionId id);

  /// It has shown that it is of PyTorch 2.1, or was taken for one.
  void on_2_1(SessionId id);
  /// L3
  [[nodiscard]] bool is_of_2_1(const IpAddress& from) const;

  /// L1
  [[nodiscard]] std::optional<SessionId> oldest_silent() const;

  /// A second is over, in which the store has read what there was.
  void on_look() { ++looks_; }
  /// L2
  [[nodiscard]] std::optional<SessionId> overdue() const;
  /// Whether there is a rest to wait for; else no look is needed.
  [[nodiscard]] bool awaits_rest() const { return !begun_.empty(); }

 private:
  struct Session {
    IpAddress from;
    bool has_spoken = false;
    bool is_of_2_1 = false;
    std::optional<std::int64_t> begun;  // looks before the rest of a request
  };
  struct Address {
    std::set<std::int64_t> sessions;
    bool has_spoken = false;       // one of them has
    std::size_t of_2_1_count = 0;  // of them
  };

  void note_spoken(SessionId id, Session& session);
  void forget_begun(SessionId id, Session& session);

  int request_looks_max_;
  std::int64_t looks_ = 0;
  std::unordered_map<std::int64_t, Session> sessions_;
  std::map<IpAddress, Address> addresses_;
  std::set<std::int64_t> silent_;                          // of the addresses where none has spoken
  std::set<std::pair<std::int64_t, std::int64_t>> begun_;  // looks before, session
  std::map<IpAddress, std::set<std::int64_t>> held_;
  std::set<std::pair<std::size_t, IpAddress>> crowds_;  // of held_: how many, from where
};

}  // namespace ddprun
