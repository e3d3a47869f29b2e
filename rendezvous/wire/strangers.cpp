#include "rendezvous/wire/strangers.hpp"

#include <fmt/format.h>

namespace ddprun {

void Strangers::on_proven(SessionId id) {
  if (auto session = unproven_.extract(id)) silent_.insert(std::move(session));
}

std::optional<Dismissal> Strangers::crowded_out(Instant now) const {
  if (!are_full() || now < room_at()) return std::nullopt;
  const SessionId id = next_to_go()->first;
  const char* has = has_proven_nothing(id) ? "not authenticated" : "said nothing";
  return Dismissal{id, fmt::format("it had {} when too many others connected", has)};
}

std::optional<Dismissal> Strangers::to_make_room(const std::string& why) const {
  if (unproven_.empty() && silent_.empty()) return std::nullopt;
  return Dismissal{next_to_go()->first, "it was closed for the next one: " + why};
}

std::optional<Instant> Strangers::next_deadline() const {
  if (unproven_.empty()) return std::nullopt;
  return unproven_.begin()->second + limits_.patience;
}

std::optional<Dismissal> Strangers::overdue(Instant now) const {
  const auto deadline = next_deadline();
  if (!deadline || now < *deadline) return std::nullopt;
  return Dismissal{unproven_.begin()->first,
                   fmt::format("it had not authenticated after {} ms", limits_.patience.count)};
}

}  // namespace ddprun
