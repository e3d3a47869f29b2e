#include "rendezvous/store/store_waits.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

StoreWaits::StoreWaits(std::size_t entry_bytes, const StoreHash& hash)
    : entry_bytes_(entry_bytes), hash_(hash), filed_(0, hash), at_barrier_(0, hash) {}

std::size_t StoreWaits::bytes_of(const StoreTexts& keys) const {
  std::size_t bytes = entry_bytes_;
  for (const std::string_view key : keys) bytes += entry_bytes_ + key.size();
  return bytes;
}

void StoreWaits::begin(SessionId session, StoreTexts keys) {
  waits_[session.value] = Wait{.list = shared_list(std::move(keys))};
  bytes_ += entry_bytes_;
}

std::shared_ptr<StoreWaits::KeyList> StoreWaits::shared_list(StoreTexts keys) {
  auto list = std::make_shared<KeyList>();
  list->bytes = bytes_of(keys) - entry_bytes_;
  list->hash = hash_of_list(keys, hash_);
  list->keys = std::move(keys);
  const auto [entry, is_new] = lists_.insert(std::move(list));
  if (is_new) bytes_ += (*entry)->bytes;
  return *entry;
}

void StoreWaits::begin_at_barrier(SessionId session, std::string_view key) {
  Wait& wait = waits_[session.value];
  wait = Wait{.list = shared_list({key}), .is_barrier = true};
  bytes_ += entry_bytes_;
  file(session, wait, at_barrier_[std::string(key)]);
}

void StoreWaits::file(SessionId session, Wait& wait, Queue& where) {
  wait.is_due = false;
  wait.place = ++filings_;
  where.emplace_hint(where.end(), wait.place, session);
}

StoreWaits::Queue& StoreWaits::queue_at(KeyList& list, std::size_t index) {
  if (list.queue == nullptr || list.queue_of != index || list.queues_ended != queues_ended_) {
    list.queue = &filed_[std::string(list.keys[index])];
    list.queue_of = index;
    list.queues_ended = queues_ended_;
  }
  return *list.queue;
}

void StoreWaits::end_queue(Sessions& all, Sessions::iterator ended) {
  all.erase(ended);
  ++queues_ended_;
}

bool StoreWaits::go_on(SessionId session, const IsPresent& is_present) {
  const auto found = waits_.find(session.value);
  if (found == waits_.end() || !found->second.is_due) return false;
  Wait& wait = found->second;
  KeyList& list = *wait.list;
  if (std::exchange(list.deletions, deletions_) != deletions_) {
    list.present_from = list.present_to = 0;  // B2
  }
  const auto is_known = [&] {
    return list.present_from <= wait.next && wait.next < list.present_to;
  };
  const std::size_t filed_at = wait.next;
  const bool has_value = std::exchange(wait.has_value, false);
  // I3: its key came, and may have been deleted before this turn.
  const bool has_come = std::exchange(wait.has_come, false);
  if (has_come && !is_known() && !is_present(list.keys[wait.next])) ++wait.next;
  const bool was_known = is_known();
  if (was_known) wait.next = list.present_to;
  const std::size_t first = wait.next;
  const bool is_missing = list.comings == comings_ && list.missing == first;  // B3
  if (!is_missing) {
    while (wait.next < list.keys.size() && is_present(list.keys[wait.next])) ++wait.next;
    list.missing = wait.next;
    list.comings = comings_;
  }
  looks_ += wait.next - first + 1;
  if (!was_known && first != list.present_to) list.present_from = first;
  list.present_to = wait.next;
  if (wait.next == list.keys.size()) {
    forget(session);
    return true;
  }
  file(session, wait, queue_at(list, wait.next));
  if (has_value && wait.next > filed_at) pass_value_on(list.keys[filed_at]);
  return false;
}

std::vector<SessionId> StoreWaits::take_all(std::string_view key) {
  ++comings_;  // B3
  std::vector<SessionId> taken;
  const auto filed = filed_.empty() ? filed_.end() : filed_.find(key);
  if (filed == filed_.end()) return taken;
  taken.reserve(filed->second.size());
  for (const auto& [place, session] : filed->second) {
    Wait& wait = waits_.at(session.value);
    wait.is_due = wait.has_come = true;
    taken.push_back(session);
  }
  end_queue(filed_, filed);
  return taken;
}

std::optional<SessionId> StoreWaits::take_first(std::string_view key) {
  ++comings_;  // B3
  return take_one(key);
}

std::optional<SessionId> StoreWaits::take_one(std::string_view key) {
  const auto filed = filed_.empty() ? filed_.end() : filed_.find(key);
  if (filed == filed_.end()) return std::nullopt;
  const SessionId first = filed->second.begin()->second;
  filed->second.erase(filed->second.begin());
  if (filed->second.empty()) end_queue(filed_, filed);
  Wait& wait = waits_.at(first.value);
  wait.is_due = wait.has_value = true;
  return first;
}

void StoreWaits::pass_value_on(std::string_view key) {
  if (const auto next = take_one(key)) successors_.push_back(*next);
}

std::optional<SessionId> StoreWaits::take_successor() {
  if (successors_.empty()) return std::nullopt;
  const SessionId next = successors_.front();
  successors_.pop_front();
  return next;
}

std::vector<SessionId> StoreWaits::open_barrier(std::string_view key) {
  std::vector<SessionId> passed;
  const auto found = at_barrier_.find(key);
  if (found == at_barrier_.end()) return passed;
  const auto waiting = at_barrier_.extract(found);
  for (const auto& [place, session] : waiting.mapped()) {
    waits_.at(session.value).is_due = true;  // filed nowhere
    forget(session);
    passed.push_back(session);
  }
  return passed;
}

void StoreWaits::forget(SessionId session) {
  auto ended = waits_.extract(session.value);
  if (ended.empty()) return;
  Wait& wait = ended.mapped();
  bytes_ -= entry_bytes_;
  if (!wait.is_due) {
    Sessions& all = wait.is_barrier ? at_barrier_ : filed_;
    const auto filed = all.find(wait.list->keys[wait.next]);
    filed->second.erase(wait.place);
    if (filed->second.empty()) end_queue(all, filed);
  } else if (wait.has_value) {
    pass_value_on(wait.list->keys[wait.next]);
  }
  if (wait.list.use_count() > 2) return;  // this wait's, and that of lists_
  bytes_ -= wait.list->bytes;
  lists_.erase(wait.list);
}

}  // namespace ddprun
