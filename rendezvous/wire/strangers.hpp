// Which connections of agents have not proven themselves yet, or have said nothing since, and which
// of them has to go for others. A pure state machine.
//
// Who has proven nothing goes before who has, and the oldest one first: a proof alone holds no
// place where places are short.
#pragma once

#include "rendezvous/units.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace ddprun {

struct StrangerLimits {
  std::size_t count_max = 4'096;
  Millis time{250};        ///< Each has it, even if others wait, while descriptors are left.
  Millis patience{5'000};  ///< In which a connection has to prove itself.
};

/// A connection that has to go.
struct Dismissal {
  SessionId id;
  std::string why;  ///< "it had not authenticated after 5000 ms"
};

class Strangers {
 public:
  explicit Strangers(StrangerLimits limits) : limits_(limits) {}

  /// `id` is larger than those before it.
  void on_opened(Instant now, SessionId id) { unproven_.emplace(id, now); }
  void on_proven(SessionId id);
  /// It has said something, or is closed. Whether it was a stranger until now: then there is room.
  bool forget(SessionId id) { return unproven_.erase(id) + silent_.erase(id) > 0; }

  [[nodiscard]] bool contain(SessionId id) const {
    return has_proven_nothing(id) || silent_.contains(id);
  }
  [[nodiscard]] bool has_proven_nothing(SessionId id) const { return unproven_.contains(id); }

  [[nodiscard]] bool are_full() const {
    return unproven_.size() + silent_.size() >= limits_.count_max;
  }
  /// Who goes for one more; nothing while that has its time still, until `room_at`.
  [[nodiscard]] std::optional<Dismissal> crowded_out(Instant now) const;
  /// REQUIRES: there is a stranger.
  [[nodiscard]] Instant room_at() const { return next_to_go()->second + limits_.time; }

  /// Who goes because this process can open no more, for this reason; nothing: there is none.
  [[nodiscard]] std::optional<Dismissal> to_make_room(const std::string& why) const;

  /// Who has not proven itself in time, and when somebody has not.
  [[nodiscard]] std::optional<Dismissal> overdue(Instant now) const;
  [[nodiscard]] std::optional<Instant> next_deadline() const;

 private:
  using Sessions = std::map<SessionId, Instant>;  // oldest first, with when they began

  [[nodiscard]] Sessions::const_iterator next_to_go() const {
    return unproven_.empty() ? silent_.begin() : unproven_.begin();
  }

  StrangerLimits limits_;
  Sessions unproven_;
  Sessions silent_;  // that have proven themselves
};

}  // namespace ddprun
