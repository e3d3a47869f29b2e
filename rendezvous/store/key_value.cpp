#include "rendezvous/store/key_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace ddprun {
namespace {

constexpr std::uint8_t ready = 0;
constexpr std::uint8_t not_ready = 1;
constexpr std::uint8_t stop_waiting = 0;
constexpr std::uint8_t wait_cancelled = 1;
constexpr std::uint8_t watch_registered = 3;
constexpr std::uint8_t watch_updated = 0;
constexpr std::uint8_t watch_created = 1;
constexpr std::uint8_t watch_deleted = 2;

void reply_byte(SessionId session, std::uint8_t byte, std::vector<StoreReply>& out) {
  out.push_back({session, std::string(1, static_cast<char>(byte))});
}

void reply_number(SessionId session, std::int64_t number, std::vector<StoreReply>& out) {
  StoreReply reply{session, {}};
  encode_i64(number, reply.bytes);
  out.push_back(std::move(reply));
}

void reply_string(SessionId session, std::string_view text, std::vector<StoreReply>& out) {
  StoreReply reply{session, {}};
  encode_string(text, reply.bytes);
  out.push_back(std::move(reply));
}

void append_replies(std::vector<StoreReply>& more, std::vector<StoreReply>& out) {
  out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Error refused(std::string why) {
  return {ExitStatus::system_refused,
          "store request refused",
          std::move(why),
          "the connection is closed"};
}

Result<std::int64_t> parse_counter(const std::string& key, const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) {
    return refused(fmt::format("add to '{}', which holds no number", key));
  }
  return number;
}

}  // namespace

KeyValue::KeyValue(KeyValueLimits limits, const StoreHash& hash)
    : limits_(limits),
      data_(0, hash),
      queues_(0, hash),
      waits_(limits.entry_bytes, hash),
      hash_(hash),
      watchers_(0, hash) {}

Result<void> KeyValue::on_request(SessionId session,
                                  StoreDialect dialect,
                                  StoreRequest request,
                                  std::vector<StoreReply>& out) {
  if (dialect == StoreDialect::legacy) waits_.forget(session);  // I2
  std::vector<std::string>& keys = request.keys;
  switch (request.operation) {
    case StoreOperation::set:
      return put(keys[0], std::move(request.values[0]), out);
    case StoreOperation::compare_set:
      return compare_set(session, request, out);
    case StoreOperation::get:
      return multi_get(session, keys, out);  // the same reply: a value without a count before it
    case StoreOperation::add:
      return add(session, request, out);
    case StoreOperation::check:
      reply_byte(session, all_present(keys) ? ready : not_ready, out);
      break;
    case StoreOperation::wait:
      return wait(session, std::move(keys), out);
    case StoreOperation::count_keys:
      reply_number(session, static_cast<std::int64_t>(data_.size()), out);
      break;
    case StoreOperation::delete_key:
      delete_key(session, keys[0], out);
      break;
    case StoreOperation::append:
      return append(request, out);
    case StoreOperation::multi_get:
      return multi_get(session, keys, out);
    case StoreOperation::multi_set:
      return multi_set(request, out);
    case StoreOperation::cancel_wait:
      waits_.forget(session);
      reply_byte(session, wait_cancelled, out);
      break;
    case StoreOperation::ping:
      out.push_back({session, {}});
      encode_u32(static_cast<std::uint32_t>(request.number), out.back().bytes);
      break;
    case StoreOperation::queue_push:
      return queue_push(request, out);
    case StoreOperation::queue_pop:
      queue_pop(session, keys[0], out);
      break;
    case StoreOperation::queue_length:
      reply_number(session, queue_length(keys[0]), out);
      break;
    case StoreOperation::list_keys:
      return list_keys(session, out);
    case StoreOperation::barrier:
      return barrier(session, request, out);
    case StoreOperation::watch_key:
      return watch(session, keys[0], out);
  }
  return {};
}

void KeyValue::on_session_lost(SessionId session) {
  waits_.forget(session);
  const auto watched = watched_.extract(session.value);
  if (watched.empty()) return;
  watches_count_ -= watched.mapped().size();
  for (const std::string& key : watched.mapped()) {
    const auto watchers = watchers_.find(key);
    watchers->second.erase(session.value);
    if (watchers->second.empty()) watchers_.erase(watchers);
    bytes_ -= limits_.entry_bytes + key.size();
  }
}

bool KeyValue::all_present(const std::vector<std::string>& keys) const {
  return std::ranges::all_of(keys, [&](const auto& key) { return present(key); });
}

Result<void> KeyValue::wait(SessionId session, std::vector<std::string> keys, Replies& out) {
  waits_.forget(session);
  if (auto room = reserve(0, waits_.bytes_of(keys)); !room) return room;
  waits_.begin(session, std::move(keys));
  go_on(session, out);
  return {};
}

Result<void> KeyValue::watch(SessionId session, const std::string& key, Replies& out) {
  Keys& watched = watched_.try_emplace(session.value, 0, hash_).first->second;
  if (!watched.contains(key)) {
    if (watches_count_ >= limits_.watches_max) {
      return refused(fmt::format("{} keys are watched already", limits_.watches_max));
    }
    const std::size_t needed = limits_.entry_bytes + key.size();
    if (auto room = reserve(0, needed); !room) return room;
    bytes_ += needed;
    ++watches_count_;
    watched.insert(key);
    watchers_[key].insert(session.value);
  }
  reply_byte(session, watch_registered, out);
  return {};
}

Result<void> KeyValue::put(const std::string& key, std::string value, Replies& out) {
  const auto old = data_.find(key);
  const bool created = old == data_.end();
  const std::size_t freed = created ? 0 : old->second.size();
  const std::size_t needed = value.size() + (created ? limits_.entry_bytes + key.size() : 0);
  if (auto room = reserve(created ? 1 : 0, needed - std::min(needed, freed)); !room) return room;
  bytes_ = bytes_ + needed - freed;
  const std::string old_value = created ? std::string() : std::move(old->second);
  std::string& stored = created ? data_[key] : old->second;
  stored = std::move(value);
  if (!watchers_.empty()) {
    tell_watchers(created ? watch_created : watch_updated, key, old_value, stored, out);
  }
  on_key_appeared(key, out);
  return {};
}

Result<void> KeyValue::compare_set(SessionId session, StoreRequest& request, Replies& out) {
  const std::string& key = request.keys[0];
  const std::string& expected = request.values[0];
  std::string& desired = request.values[1];
  const auto held = data_.find(key);
  const bool matches = held == data_.end() ? expected.empty() : held->second == expected;
  const std::string& answer = matches ? desired : held == data_.end() ? expected : held->second;
  Replies own;
  reply_string(session, answer, own);
  if (own.front().bytes.size() > limits_.reply_bytes_max) return reply_too_large();
  Replies woken;
  if (matches) {
    if (auto stored = put(key, std::move(desired), woken); !stored) return stored;
  }
  append_replies(own, out);
  append_replies(woken, out);
  return {};
}

/// The caller's reply goes out before those that it causes for others.
Result<void> KeyValue::add(SessionId session, const StoreRequest& request, Replies& out) {
  Replies woken;
  const Result<std::int64_t> sum = increase(request.keys[0], request.number, woken);
  if (!sum) return sum.error();
  reply_number(session, *sum, out);
  append_replies(woken, out);
  return {};
}

/// Counters are kept as decimal text, because clients read them with get.
Result<std::int64_t> KeyValue::increase(const std::string& key, std::int64_t delta, Replies& out) {
  std::int64_t sum = 0;
  if (const auto held = data_.find(key); held != data_.end()) {
    const Result<std::int64_t> number = parse_counter(key, held->second);
    if (!number) return number.error();
    sum = *number;
  }
  if (__builtin_add_overflow(sum, delta, &sum)) {
    return refused(fmt::format("adding {} to '{}' leaves the range of 64 bits", delta, key));
  }
  if (auto stored = put(key, std::to_string(sum), out); !stored) return stored.error();
  return sum;
}

Result<void> KeyValue::append(StoreRequest& request, Replies& out) {
  const std::string& key = request.keys[0];
  const std::string& more = request.values[0];
  const auto held = data_.find(key);
  if (held == data_.end()) return put(key, std::move(request.values[0]), out);
  if (auto room = reserve(0, more.size()); !room) return room;
  bytes_ += more.size();
  const bool is_watched = watchers_.contains(key);
  const std::string old_value = is_watched ? held->second : std::string();
  held->second += more;
  if (is_watched) tell_watchers(watch_updated, key, old_value, held->second, out);
  return {};
}

Result<void> KeyValue::barrier(SessionId session, const StoreRequest& request, Replies& out) {
  const std::string& key = request.keys[0];
  const Result<std::int64_t> count = increase(key, 1, out);
  if (!count) return count.error();
  if (*count < request.number) {
    waits_.forget(session);
    waits_.begin_at_barrier(session, key);
    return {};
  }
  reply_byte(session, stop_waiting, out);
  for (const SessionId waiter : waits_.open_barrier(key)) reply_byte(waiter, stop_waiting, out);
  return {};
}

/// One value wakes one waiter; else all but one of them would find the queue empty.
Result<void> KeyValue::queue_push(StoreRequest& request, Replies& out) {
  const std::string& key = request.keys[0];
  const bool created = !queues_.contains(key);
  const std::size_t needed = limits_.entry_bytes + request.values[0].size() +
                             (created ? limits_.entry_bytes + key.size() : 0);
  if (auto room = reserve(created ? 1 : 0, needed); !room) return room;
  bytes_ += needed;
  queues_[key].push_back(std::move(request.values[0]));
  if (const auto first = waits_.take_first(key)) go_on(*first, out);
  return {};
}

void KeyValue::queue_pop(SessionId session, const std::string& key, Replies& out) {
  const auto queue = queues_.find(key);
  if (queue == queues_.end()) return reply_number(session, 0, out);
  StoreReply reply{session, {}};
  encode_i64(static_cast<std::int64_t>(queue->second.size()), reply.bytes);
  encode_string(queue->second.front(), reply.bytes);
  out.push_back(std::move(reply));
  bytes_ -= limits_.entry_bytes + queue->second.front().size();
  queue->second.pop_front();
  if (!queue->second.empty()) return;
  bytes_ -= limits_.entry_bytes + key.size();
  queues_.erase(queue);
  waits_.on_deleted();
}

void KeyValue::delete_key(SessionId session, const std::string& key, Replies& out) {
  auto held = data_.extract(key);
  if (held.empty()) return reply_number(session, 0, out);
  bytes_ -= limits_.entry_bytes + key.size() + held.mapped().size();
  waits_.on_deleted();
  tell_watchers(watch_deleted, key, held.mapped(), {}, out);
  reply_number(session, 1, out);
}

std::int64_t KeyValue::queue_length(const std::string& key) const {
  const auto queue = queues_.find(key);
  return queue == queues_.end() ? 0 : static_cast<std::int64_t>(queue->second.size());
}

Result<void> KeyValue::multi_set(StoreRequest& request, Replies& out) {
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    auto stored = put(request.keys[i], std::move(request.values[i]), out);
    if (!stored) return stored;
  }
  return {};
}

Result<void> KeyValue::multi_get(SessionId session,
                                 const std::vector<std::string>& keys,
                                 Replies& out) const {
  StoreReply reply{session, {}};
  for (const std::string& key : keys) {
    encode_string(value_or_empty(key), reply.bytes);
    if (reply.bytes.size() > limits_.reply_bytes_max) return reply_too_large();
  }
  out.push_back(std::move(reply));
  return {};
}

Result<void> KeyValue::list_keys(SessionId session, Replies& out) const {
  StoreReply reply{session, {}};
  encode_i64(static_cast<std::int64_t>(data_.size()), reply.bytes);
  for (const auto& [key, value] : data_) {
    encode_string(key, reply.bytes);
    if (reply.bytes.size() > limits_.reply_bytes_max) return reply_too_large();
  }
  out.push_back(std::move(reply));
  return {};
}

Error KeyValue::reply_too_large() const {
  return refused(fmt::format("its reply is larger than {} bytes", limits_.reply_bytes_max));
}

bool KeyValue::present(const std::string& key) const {
  return data_.contains(key) || queues_.contains(key);
}

std::string KeyValue::value_or_empty(const std::string& key) const {
  const auto held = data_.find(key);
  return held == data_.end() ? std::string() : held->second;
}

Result<void> KeyValue::reserve(std::size_t more_keys, std::size_t more_bytes) const {
  if (data_.size() + queues_.size() + more_keys > limits_.keys_max) {
    return refused(fmt::format("the store holds {} keys already", limits_.keys_max));
  }
  const std::size_t bytes = bytes_ + waits_.bytes();
  if (more_bytes > limits_.bytes_max - std::min(limits_.bytes_max, bytes)) {
    return refused(fmt::format("the store would hold more than {} bytes", limits_.bytes_max));
  }
  return {};
}

void KeyValue::on_key_appeared(const std::string& key, Replies& out) {
  const std::vector<SessionId> taken = waits_.take_all(key);
  woken_.insert(woken_.end(), taken.begin(), taken.end());
  work(out);
}

void KeyValue::work(Replies& out) {
  const std::uint64_t looks_before = waits_.looks();
  while (!woken_.empty() && waits_.looks() - looks_before < limits_.looks_max) {
    const SessionId session = woken_.front();
    woken_.pop_front();
    go_on(session, out);
  }
}

/// A session is filed under the first key that is missing, and no other: n clients waiting for n
/// keys cost n entries, not n².
void KeyValue::go_on(SessionId session, Replies& out) {
  const auto is_present = [this](const std::string& key) { return present(key); };
  if (waits_.go_on(session, is_present)) reply_byte(session, stop_waiting, out);
}

void KeyValue::tell_watchers(std::uint8_t kind,
                             const std::string& key,
                             const std::string& old_value,
                             const std::string& new_value,
                             Replies& out) const {
  const auto watchers = watchers_.find(key);
  if (watchers == watchers_.end()) return;
  for (const std::int64_t session : watchers->second) {
    StoreReply reply{{session}, {}};
    encode_byte(kind, reply.bytes);
    encode_string(key, reply.bytes);
    encode_string(old_value, reply.bytes);
    encode_string(new_value, reply.bytes);
    out.push_back(std::move(reply));
  }
}

}  // namespace ddprun
