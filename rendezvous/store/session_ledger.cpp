#include "rendezvous/store/session_ledger.hpp"

namespace ddprun {

void SessionLedger::on_opened(SessionId id, const IpAddress& from) {
  sessions_[id.value].from = from;
  Address& address = addresses_[from];
  address.sessions.insert(id.value);
  if (!address.has_spoken) silent_.insert(id.value);
}

void SessionLedger::on_closed(SessionId id) {
  const auto ended = sessions_.extract(id.value);
  if (ended.empty()) return;
  const Session& session = ended.mapped();
  if (session.begun) begun_.erase({*session.begun, id.value});
  silent_.erase(id.value);
  const auto address = addresses_.find(session.from);
  address->second.sessions.erase(id.value);
  if (address->second.sessions.empty()) addresses_.erase(address);
}

void SessionLedger::on_bytes(SessionId id, bool have_completed, bool have_begun, Instant now) {
  Session& session = sessions_.at(id.value);
  if (!session.has_spoken) note_spoken(id, session);
  if (session.begun && (have_completed || !have_begun)) {
    begun_.erase({*session.begun, id.value});
    session.begun.reset();
  }
  if (session.begun || !have_begun) return;
  session.begun = now;
  begun_.emplace(now, id.value);
}

void SessionLedger::note_spoken(SessionId id, Session& session) {
  session.has_spoken = true;
  silent_.erase(id.value);
  Address& address = addresses_.at(session.from);
  if (address.has_spoken) return;
  address.has_spoken = true;
  for (const std::int64_t other : address.sessions) silent_.erase(other);
}

std::optional<SessionId> SessionLedger::oldest_silent() const {
  if (silent_.empty()) return std::nullopt;
  return SessionId{*silent_.begin()};
}

std::optional<SessionId> SessionLedger::overdue(Instant now) const {
  const auto deadline = next_deadline();
  if (!deadline || *deadline > now) return std::nullopt;
  return SessionId{begun_.begin()->second};
}

std::optional<Instant> SessionLedger::next_deadline() const {
  if (begun_.empty()) return std::nullopt;
  return begun_.begin()->first + request_time_max_;
}

}  // namespace ddprun
