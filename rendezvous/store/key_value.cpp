#include "rendezvous/store/key_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace ddprun {
namespace {

constexpr std::uint8_t keys_present = 0;
constexpr std::uint8_t keys_missing = 1;
constexpr std::uint8_t stop_waiting = 0;
constexpr std::uint8_t wait_cancelled = 1;
constexpr std::uint8_t watch_registered = 3;
constexpr std::uint8_t watch_updated = 0;
constexpr std::uint8_t watch_created = 1;
constexpr std::uint8_t watch_deleted = 2;
constexpr std::size_t counter_bytes_max = 20;       // -9223372036854775808
constexpr std::size_t watch_reply_bytes_max = 512;  // besides the key, and values that are shared

void reply_byte(SessionId session, std::uint8_t byte, std::vector<StoreReply>& out) {
  out.push_back({session, {}});
  encode_byte(byte, out.back().bytes.own());
}

void reply_number(SessionId session, std::int64_t number, std::vector<StoreReply>& out) {
  out.push_back({session, {}});
  encode_i64(number, out.back().bytes.own());
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

/// `text` may also come from set, compare_set, multi_set or append, and be as large as any value.
/// So it is not read if it is longer than a counter: zeros before a number would take seconds.
Result<std::int64_t> parse_counter(std::string_view key, const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const bool may_be_one = text.size() <= counter_bytes_max;
  const auto [stop, error] = std::from_chars(text.data(), may_be_one ? end : text.data(), number);
  if (error != std::errc{} || stop != end) {
    return refused(fmt::format("add to '{}', which holds no number", key));
  }
  return number;
}

}  // namespace

KeyValue::KeyValue(StoreBudget& budget, KeyValueLimits limits, const StoreHash& hash)
    : limits_(limits),
      budget_(budget),
      charge_(budget),
      no_value_({}, budget),
      data_(0, hash),
      queues_(0, hash),
      waits_(limits.entry_bytes, hash),
      looks_left_(limits.looks_max),
      hash_(hash),
      watchers_(0, hash) {}

Result<void> KeyValue::on_request(SessionId session,
                                  StoreDialect dialect,
                                  StoreRequest request,
                                  std::vector<StoreReply>& out) {
  if (dialect == StoreDialect::legacy) waits_.forget(session);  // I2
  if (!has_room_for(request)) {
    return refused(fmt::format(
        "it may take {} bytes, and {} of the store's {} are taken; {} are left to readers",
        cost_of(request),
        budget_.used(),
        budget_.max(),
        budget_.reserve()));
  }
  auto done = perform(session, request, out);
  charge_.resize(entries_bytes_ + waits_.bytes());
  return done;
}

bool KeyValue::has_room_for(const StoreRequest& request) const {
  const std::size_t cost = cost_of(request);
  if (budget_.has_room_to_keep(cost)) return true;
  return budget_.has_room(cost) && keeps_nothing(request);
}

/// A client of PyTorch waits for a key before it reads it.
bool KeyValue::keeps_nothing(const StoreRequest& request) const {
  switch (request.operation) {
    case StoreOperation::set:
    case StoreOperation::compare_set:
    case StoreOperation::add:
    case StoreOperation::append:
    case StoreOperation::multi_set:
    case StoreOperation::queue_push:
    case StoreOperation::barrier:
    case StoreOperation::watch_key:
      return false;
    case StoreOperation::wait:
      return all_present(request.keys);
    default:
      return true;
  }
}

/// Each key may become an entry, or be answered with its value. A value that is replaced is sent to
/// those who watch the key.
std::size_t KeyValue::cost_of(const StoreRequest& request) const {
  constexpr std::size_t number_bytes = 32;  // of a counter, or the reply's own
  std::size_t cost = limits_.entry_bytes + number_bytes;
  switch (request.operation) {
    case StoreOperation::check:
    case StoreOperation::queue_length:
      return cost;
    case StoreOperation::delete_key:
      return cost + cost_of_notices(request.keys[0]);
    default:
      break;
  }
  for (const std::string_view key : request.keys) cost += cost_of_key(key);
  for (const std::string_view value : request.values) cost += limits_.entry_bytes + value.size();
  if (request.operation == StoreOperation::list_keys) {
    cost += key_bytes_ + data_.size() * sizeof(std::uint64_t);
  } else if (request.operation == StoreOperation::append) {
    const std::string_view key = request.keys[0];
    const auto held = data_.find(key);
    const bool is_copied = held != data_.end() && (held->second.is_shared() || is_watched(key));
    if (is_copied) cost += held->second.size();
  } else if (request.operation == StoreOperation::barrier) {
    cost += waits_.bytes_of(request.keys);
  } else if (request.operation == StoreOperation::watch_key) {
    cost += request.keys[0].size();
  }
  return cost;
}

std::size_t KeyValue::cost_of_key(std::string_view key) const {
  return limits_.entry_bytes + key.size() + ReplyBytes::value_cost_max + cost_of_notices(key);
}

/// The key is kept by the session and by its watchers.
std::size_t KeyValue::cost_of_watch(std::string_view key) const {
  return limits_.entry_bytes + 2 * key.size();
}

std::size_t KeyValue::cost_of_notices(std::string_view key) const {
  if (watchers_.empty()) return 0;
  const auto watchers = watchers_.find(key);
  if (watchers == watchers_.end()) return 0;
  return watchers->second.size() * (key.size() + watch_reply_bytes_max);
}

Result<void> KeyValue::perform(SessionId session, StoreRequest& request, Replies& out) {
  StoreTexts& keys = request.keys;
  switch (request.operation) {
    case StoreOperation::set:
      return put(keys[0], request.values.extract(0), out);
    case StoreOperation::compare_set:
      return compare_set(session, request, out);
    case StoreOperation::get:
      multi_get(session, keys, out);  // the same reply: a value without a count before it
      break;
    case StoreOperation::add:
      return add(session, request, out);
    case StoreOperation::check:
      reply_byte(session, all_present(keys) ? keys_present : keys_missing, out);
      break;
    case StoreOperation::wait:
      wait(session, std::move(keys), out);
      break;
    case StoreOperation::count_keys:
      reply_number(session, static_cast<std::int64_t>(data_.size()), out);
      break;
    case StoreOperation::delete_key:
      delete_key(session, keys[0], out);
      break;
    case StoreOperation::append:
      return append(request, out);
    case StoreOperation::multi_get:
      multi_get(session, keys, out);
      break;
    case StoreOperation::multi_set:
      return multi_set(request, out);
    case StoreOperation::cancel_wait:
      waits_.forget(session);
      reply_byte(session, wait_cancelled, out);
      break;
    case StoreOperation::ping:
      out.push_back({session, {}});
      encode_u32(static_cast<std::uint32_t>(request.number), out.back().bytes.own());
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
      list_keys(session, out);
      break;
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
  if (!watched.empty()) {
    watches_count_ -= watched.mapped().size();
    for (std::string_view key : watched.mapped()) {
      const auto watchers = watchers_.find(key);
      watchers->second.erase(session.value);
      if (watchers->second.empty()) watchers_.erase(watchers);
      entries_bytes_ -= cost_of_watch(key);
    }
  }
  charge_.resize(entries_bytes_ + waits_.bytes());
}

bool KeyValue::all_present(const StoreTexts& keys) const {
  return std::ranges::all_of(keys, [&](std::string_view key) { return present(key); });
}

void KeyValue::wait(SessionId session, StoreTexts keys, Replies& out) {
  waits_.forget(session);
  waits_.begin(session, std::move(keys));
  go_on(session, out);
}

Result<void> KeyValue::watch(SessionId session, std::string_view key, Replies& out) {
  Keys& watched = watched_.try_emplace(session.value, 0, hash_).first->second;
  if (!watched.contains(key)) {
    if (watches_count_ >= limits_.watches_max) {
      return refused(fmt::format("{} keys are watched already", limits_.watches_max));
    }
    entries_bytes_ += cost_of_watch(key);
    ++watches_count_;
    watched.emplace(key);
    watchers_[std::string(key)].insert(session.value);
  }
  reply_byte(session, watch_registered, out);
  return {};
}

Result<void> KeyValue::put(std::string_view key, std::string value, Replies& out) {
  const auto held = data_.find(key);
  if (held == data_.end()) {
    if (auto room = has_room_for_keys(1); !room) return room;
    entries_bytes_ += limits_.entry_bytes + key.size();
    key_bytes_ += key.size();
    const StoreValue& stored =
        data_.emplace(std::string(key), StoreValue(std::move(value), budget_)).first->second;
    tell_watchers(watch_created, key, no_value_, stored, out);
  } else if (is_watched(key)) {
    const StoreValue before = std::exchange(held->second, StoreValue(std::move(value), budget_));
    tell_watchers(watch_updated, key, before, held->second, out);
  } else {
    held->second.replace(std::move(value), budget_);
  }
  on_key_appeared(key, out);
  return {};
}

Result<void> KeyValue::compare_set(SessionId session, StoreRequest& request, Replies& out) {
  const std::string_view key = request.keys[0];
  const std::string_view expected = request.values[0];
  const auto held = data_.find(key);
  const bool is_missing = held == data_.end();
  const bool matches = is_missing ? expected.empty() : held->second.text() == expected;
  StoreReply own{session, {}};
  Replies woken;
  if (matches) {
    if (auto stored = put(key, request.values.extract(1), woken); !stored) return stored;
    own.bytes.add_value(data_.find(key)->second);
  } else if (is_missing) {
    own.bytes.add_value(StoreValue(std::string(expected), budget_));
  } else {
    own.bytes.add_value(held->second);
  }
  out.push_back(std::move(own));
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
Result<std::int64_t> KeyValue::increase(std::string_view key, std::int64_t delta, Replies& out) {
  std::int64_t sum = 0;
  if (const auto held = data_.find(key); held != data_.end()) {
    const Result<std::int64_t> number = parse_counter(key, held->second.text());
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
  const std::string_view key = request.keys[0];
  const auto held = data_.find(key);
  if (held == data_.end()) return put(key, request.values.extract(0), out);
  if (!is_watched(key)) {
    held->second.append(request.values[0], budget_);
    return {};
  }
  const StoreValue before = held->second;
  held->second.append(request.values[0], budget_);
  tell_watchers(watch_updated, key, before, held->second, out);
  return {};
}

Result<void> KeyValue::barrier(SessionId session, const StoreRequest& request, Replies& out) {
  const std::string_view key = request.keys[0];
  waits_.forget(session);  // which its own count could end, in this turn or a later one
  const Result<std::int64_t> count = increase(key, 1, out);
  if (!count) return count.error();
  if (*count < request.number) {
    waits_.begin_at_barrier(session, key);
    return {};
  }
  reply_byte(session, stop_waiting, out);
  for (const SessionId waiter : waits_.open_barrier(key)) reply_byte(waiter, stop_waiting, out);
  return {};
}

/// One value ends one wait; else all but one of them would find the queue empty.
Result<void> KeyValue::queue_push(StoreRequest& request, Replies& out) {
  const std::string_view key = request.keys[0];
  if (!queues_.contains(key)) {
    if (auto room = has_room_for_keys(1); !room) return room;
    entries_bytes_ += limits_.entry_bytes + key.size();
  }
  entries_bytes_ += limits_.entry_bytes;
  queues_[std::string(key)].emplace_back(request.values.extract(0), budget_);
  if (const auto first = waits_.take_first(key)) {
    woken_.push_back(*first);
    go_on_with_woken(out);
  }
  return {};
}

void KeyValue::queue_pop(SessionId session, std::string_view key, Replies& out) {
  const auto queue = queues_.find(key);
  if (queue == queues_.end()) return reply_number(session, 0, out);
  reply_number(session, static_cast<std::int64_t>(queue->second.size()), out);
  out.back().bytes.add_value(queue->second.front());
  entries_bytes_ -= limits_.entry_bytes;
  queue->second.pop_front();
  if (!queue->second.empty()) return;
  entries_bytes_ -= limits_.entry_bytes + key.size();
  queues_.erase(queue);
  waits_.on_deleted();
}

void KeyValue::delete_key(SessionId session, std::string_view key, Replies& out) {
  const auto found = data_.find(key);
  if (found == data_.end()) return reply_number(session, 0, out);
  const auto held = data_.extract(found);
  entries_bytes_ -= limits_.entry_bytes + key.size();
  key_bytes_ -= key.size();
  waits_.on_deleted();
  tell_watchers(watch_deleted, key, held.mapped(), no_value_, out);
  reply_number(session, 1, out);
}

std::int64_t KeyValue::queue_length(std::string_view key) const {
  const auto queue = queues_.find(key);
  return queue == queues_.end() ? 0 : static_cast<std::int64_t>(queue->second.size());
}

Result<void> KeyValue::multi_set(StoreRequest& request, Replies& out) {
  if (auto room = has_room_for_keys(request.keys.size()); !room) return room;
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    auto stored = put(request.keys[i], request.values.extract(i), out);
    if (!stored) return stored;
  }
  return {};
}

void KeyValue::multi_get(SessionId session, const StoreTexts& keys, Replies& out) const {
  out.push_back({session, {}});
  for (const std::string_view key : keys) {
    const auto held = data_.find(key);
    out.back().bytes.add_value(held == data_.end() ? no_value_ : held->second);
  }
}

void KeyValue::list_keys(SessionId session, Replies& out) const {
  reply_number(session, static_cast<std::int64_t>(data_.size()), out);
  std::string& bytes = out.back().bytes.own();
  bytes.reserve(bytes.size() + key_bytes_ + data_.size() * sizeof(std::uint64_t));
  for (const auto& [key, value] : data_) encode_string(key, bytes);
}

bool KeyValue::present(std::string_view key) const {
  return data_.contains(key) || (!queues_.empty() && queues_.contains(key));
}

/// So many that may all be new.
Result<void> KeyValue::has_room_for_keys(std::size_t count) const {
  if (data_.size() + queues_.size() + count <= limits_.keys_max) return {};
  return refused(fmt::format("the store holds {} keys already", limits_.keys_max));
}

void KeyValue::on_key_appeared(std::string_view key, Replies& out) {
  const std::vector<SessionId> taken = waits_.take_all(key);
  woken_.insert(woken_.end(), taken.begin(), taken.end());
  go_on_with_woken(out);
}

void KeyValue::work(Replies& out) {
  looks_left_ = limits_.looks_max;
  go_on_with_woken(out);
  if (!has_woken()) looks_left_ = limits_.looks_max;
}

/// Who waits no longer counts as a look.
void KeyValue::go_on_with_woken(Replies& out) {
  if (!has_woken()) return;
  while (looks_left_ > 0) {
    const auto session = next_woken();
    if (!session) break;
    const std::uint64_t looks_before = waits_.looks();
    go_on(*session, out);
    const auto looks = std::max<std::uint64_t>(1, waits_.looks() - looks_before);
    looks_left_ -= std::min(looks, looks_left_);
  }
  charge_.resize(entries_bytes_ + waits_.bytes());
}

std::optional<SessionId> KeyValue::next_woken() {
  if (const auto successor = waits_.take_successor()) return successor;
  if (woken_.empty()) return std::nullopt;
  const SessionId first = woken_.front();
  woken_.pop_front();
  return first;
}

/// A session is filed under the first key that is missing, and no other: n clients waiting for n
/// keys cost n entries, not n².
void KeyValue::go_on(SessionId session, Replies& out) {
  const auto is_present = [this](std::string_view key) { return present(key); };
  if (waits_.go_on(session, is_present)) reply_byte(session, stop_waiting, out);
}

void KeyValue::tell_watchers(std::uint8_t kind,
                             std::string_view key,
                             const StoreValue& old_value,
                             const StoreValue& new_value,
                             Replies& out) const {
  const auto watchers = watchers_.empty() ? watchers_.end() : watchers_.find(key);
  if (watchers == watchers_.end()) return;
  for (const std::int64_t session : watchers->second) {
    reply_byte({session}, kind, out);
    ReplyBytes& bytes = out.back().bytes;
    encode_string(key, bytes.own());
    bytes.add_value(old_value);
    bytes.add_value(new_value);
  }
}

}  // namespace ddprun
