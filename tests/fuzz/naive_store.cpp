#include "tests/fuzz/naive_store.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace ddprun::fuzz {

bool NaiveStore::on_request(std::int64_t session,
                            StoreDialect dialect,
                            const StoreRequest& request,
                            Heard& heard) {
  if (dialect == StoreDialect::legacy) forget_wait(session);
  if (request.operation == StoreOperation::add) {
    Heard woken;  // hears of it after the one who asked
    const std::string key(request.keys[0]);
    if (!add(key, request.number, woken)) return false;
    encode_i64(std::stoll(data_[key]), heard[session]);
    for (const auto& [each, bytes] : woken) heard[each] += bytes;
    return true;
  }
  if (request.operation == StoreOperation::barrier) {
    forget_wait(session);
    if (!add(std::string(request.keys[0]), 1, heard)) return false;
    barrier(session, request, heard);
    return true;
  }
  answer(session, request, heard);
  return true;
}

/// Of every operation that cannot fail.
void NaiveStore::answer(std::int64_t session, const StoreRequest& request, Heard& heard) {
  const auto key = [&] { return std::string(request.keys[0]); };
  std::string& own = heard[session];
  switch (request.operation) {
    case StoreOperation::set:
    case StoreOperation::multi_set:
      for (std::size_t i = 0; i < request.keys.size(); ++i) {
        put(std::string(request.keys[i]), std::string(request.values[i]), heard);
      }
      return;
    case StoreOperation::append:
      return put(key(), value_or_empty(key()) + std::string(request.values[0]), heard);
    case StoreOperation::compare_set:
      return compare_set(session, request, heard);
    case StoreOperation::get:
    case StoreOperation::multi_get:
      for (const std::string_view each : request.keys) {
        encode_string(value_or_empty(std::string(each)), own);
      }
      return;
    case StoreOperation::check: {
      const bool all = std::ranges::all_of(
          request.keys, [&](std::string_view each) { return is_present(std::string(each)); });
      return encode_byte(all ? 0 : 1, own);
    }
    case StoreOperation::wait:
      forget_wait(session);
      go_on({session, {request.keys.begin(), request.keys.end()}}, heard);
      return;
    case StoreOperation::cancel_wait:
      forget_wait(session);
      return encode_byte(1, own);
    case StoreOperation::count_keys:
      return encode_i64(static_cast<std::int64_t>(data_.size()), own);
    case StoreOperation::list_keys:
      encode_i64(static_cast<std::int64_t>(data_.size()), own);
      for (const auto& [name, value] : data_) encode_string(name, own);
      return;
    case StoreOperation::delete_key: {
      const auto held = data_.extract(key());
      if (!held.empty()) tell_watchers(2, key(), held.mapped(), "", heard);
      return encode_i64(held.empty() ? 0 : 1, own);
    }
    case StoreOperation::ping:
      return encode_u32(static_cast<std::uint32_t>(request.number), own);
    case StoreOperation::queue_push:
      queues_[key()].emplace_back(request.values[0]);
      return wake_for_value(key(), heard);
    case StoreOperation::queue_pop:
      return queue_pop(session, key(), heard);
    case StoreOperation::queue_length:
      return encode_i64(
          queues_.contains(key()) ? static_cast<std::int64_t>(queues_[key()].size()) : 0, own);
    case StoreOperation::watch_key:
      watchers_[key()].insert(session);
      return encode_byte(3, own);
    case StoreOperation::add:
    case StoreOperation::barrier:
      return;
  }
}

void NaiveStore::on_session_lost(std::int64_t session) {
  forget_wait(session);
  for (auto& [key, sessions] : watchers_) sessions.erase(session);
}

std::string NaiveStore::value_or_empty(const std::string& key) const {
  return data_.contains(key) ? data_.at(key) : std::string();
}

bool NaiveStore::is_present(const std::string& key) const {
  return data_.contains(key) || queues_.contains(key);
}

void NaiveStore::put(const std::string& key, const std::string& value, Heard& heard) {
  const bool is_new = !data_.contains(key);
  const std::string before = std::exchange(data_[key], value);
  tell_watchers(is_new ? 1 : 0, key, before, value, heard);
  wake(key, heard);
}

bool NaiveStore::add(const std::string& key, std::int64_t delta, Heard& heard) {
  const std::string text = data_.contains(key) ? data_[key] : "0";
  constexpr std::size_t longest = 20;  // -9223372036854775808
  if (text.size() > longest) return false;
  std::int64_t sum = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), sum);
  if (error != std::errc{} || stop != text.data() + text.size()) return false;
  if (__builtin_add_overflow(sum, delta, &sum)) return false;
  put(key, std::to_string(sum), heard);
  return true;
}

void NaiveStore::barrier(std::int64_t session, const StoreRequest& request, Heard& heard) {
  const std::string key(request.keys[0]);
  if (std::stoll(data_[key]) < request.number) {
    waiters_.push_back({session, {key}, 0, true});
    return;
  }
  encode_byte(0, heard[session]);
  std::erase_if(waiters_, [&](const Waiter& each) {
    const bool passes = each.is_at_barrier && each.keys[0] == key;
    if (passes) encode_byte(0, heard[each.session]);
    return passes;
  });
}

void NaiveStore::compare_set(std::int64_t session, const StoreRequest& request, Heard& heard) {
  const std::string key(request.keys[0]);
  const auto held = data_.find(key);
  const std::string expected(request.values[0]);
  const bool matches = held == data_.end() ? expected.empty() : held->second == expected;
  if (!matches) {
    return encode_string(held == data_.end() ? expected : held->second, heard[session]);
  }
  encode_string(request.values[1], heard[session]);
  put(key, std::string(request.values[1]), heard);
}

void NaiveStore::queue_pop(std::int64_t session, const std::string& key, Heard& heard) {
  const auto queue = queues_.find(key);
  if (queue == queues_.end()) return encode_i64(0, heard[session]);
  encode_i64(static_cast<std::int64_t>(queue->second.size()), heard[session]);
  encode_string(queue->second.front(), heard[session]);
  queue->second.pop_front();
  if (queue->second.empty()) queues_.erase(queue);
}

/// All that wait for this key.
void NaiveStore::wake(const std::string& key, Heard& heard) {
  std::vector<Waiter> woken;
  std::erase_if(waiters_, [&](const Waiter& each) {
    const bool is_one = each.waits_for(key);
    if (is_one) woken.push_back(each);
    return is_one;
  });
  for (Waiter& each : woken) go_on(std::move(each), heard);
}

/// One after the other, until the wait of one is over.
void NaiveStore::wake_for_value(const std::string& key, Heard& heard) {
  for (bool is_over = false; !is_over;) {
    const auto first =
        std::ranges::find_if(waiters_, [&](const Waiter& each) { return each.waits_for(key); });
    if (first == waiters_.end()) return;
    Waiter woken = std::move(*first);
    waiters_.erase(first);
    is_over = go_on(std::move(woken), heard);
  }
}

/// Whether its wait is over.
bool NaiveStore::go_on(Waiter waiter, Heard& heard) {
  while (waiter.next < waiter.keys.size() && is_present(waiter.keys[waiter.next])) ++waiter.next;
  const bool is_over = waiter.next == waiter.keys.size();
  if (is_over) {
    encode_byte(0, heard[waiter.session]);
  } else {
    waiters_.push_back(std::move(waiter));
  }
  return is_over;
}

void NaiveStore::forget_wait(std::int64_t session) {
  std::erase_if(waiters_, [&](const Waiter& each) { return each.session == session; });
}

void NaiveStore::tell_watchers(std::uint8_t kind,
                               const std::string& key,
                               const std::string& before,
                               const std::string& after,
                               Heard& heard) const {
  const auto watchers = watchers_.find(key);
  if (watchers == watchers_.end()) return;
  for (const std::int64_t session : watchers->second) {
    std::string& own = heard[session];
    encode_byte(kind, own);
    encode_string(key, own);
    encode_string(before, own);
    encode_string(after, own);
  }
}

}  // namespace ddprun::fuzz
