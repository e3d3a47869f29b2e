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
  forget_begun(id, ended.mapped());
  silent_.erase(id.value);
  const auto address = addresses_.find(ended.mapped().from);
  if (ended.mapped().is_of_2_1) --address->second.of_2_1_count;
  address->second.sessions.erase(id.value);
  if (address->second.sessions.empty()) addresses_.erase(address);
}

void SessionLedger::on_held(SessionId held, const IpAddress& from) {
  std::set<std::int64_t>& all = held_[from];
  crowds_.erase({all.size(), from});
  all.insert(held.value);
  crowds_.emplace(all.size(), from);
}

void SessionLedger::on_let_go(SessionId held, const IpAddress& from) {
  const auto all = held_.find(from);
  if (all == held_.end()) return;
  crowds_.erase({all->second.size(), from});
  all->second.erase(held.value);
  if (all->second.empty()) {
    held_.erase(all);
  } else {
    crowds_.emplace(all->second.size(), from);
  }
}

std::optional<SessionId> SessionLedger::most_crowded() const {
  if (crowds_.empty()) return std::nullopt;
  return SessionId{*held_.at(crowds_.rbegin()->second).begin()};
}

void SessionLedger::on_bytes(SessionId id, bool have_completed, bool have_begun) {
  Session& session = sessions_.at(id.value);
  if (!session.has_spoken) note_spoken(id, session);
  if (have_completed || !have_begun) forget_begun(id, session);
}

void SessionLedger::on_rest_awaited(SessionId id) {
  Session& session = sessions_.at(id.value);
  if (session.begun) return;
  session.begun = looks_;
  begun_.emplace(looks_, id.value);
}

void SessionLedger::forget_begun(SessionId id, Session& session) {
  if (!session.begun) return;
  begun_.erase({*session.begun, id.value});
  session.begun.reset();
}

void SessionLedger::note_spoken(SessionId id, Session& session) {
  session.has_spoken = true;
  silent_.erase(id.value);
  Address& address = addresses_.at(session.from);
  if (address.has_spoken) return;
  address.has_spoken = true;
  for (const std::int64_t other : address.sessions) silent_.erase(other);
}

void SessionLedger::on_2_1(SessionId id) {
  Session& session = sessions_.at(id.value);
  if (std::exchange(session.is_of_2_1, true)) return;
  ++addresses_.at(session.from).of_2_1_count;
}

bool SessionLedger::is_of_2_1(const IpAddress& from) const {
  const auto address = addresses_.find(from);
  return address != addresses_.end() && address->second.of_2_1_count > 0;
}

std::optional<SessionId> SessionLedger::oldest_silent() const {
  if (silent_.empty()) return std::nullopt;
  return SessionId{*silent_.begin()};
}

std::optional<SessionId> SessionLedger::overdue() const {
  if (begun_.empty() || looks_ - begun_.begin()->first < request_looks_max_) return std::nullopt;
  return SessionId{begun_.begin()->second};
}

}  // namespace ddprun
