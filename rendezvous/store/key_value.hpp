// The workers' rendezvous store as a value: requests of sessions in, replies to sessions out.
//
// It answers as PyTorch's own servers do (reply for reply, measured on 1.13.1, 2.6 and 2.14),
// except where those differ from one another or hang a client: a missing key reads as empty,
// compare_set wakes waiters, and a legacy client that gave up waiting is never sent a late answer.
//
// Invariants
//   I1  A session has at most one wait. A validated client's cancel_wait is answered by exactly one
//       byte, and no answer to that wait follows it.
//   I2  Any further request of a legacy session cancels its wait: such clients time out silently.
//   I3  A wait is answered once: its keys are looked for in their order, each is waited for until
//       it is there, and the answer follows the last. (PyTorch's servers count a key that came and
//       was deleted again while another was missing; here it must come again.)
//   I4  A request costs no more than the bytes of it and of the replies that it causes. What wakes
//       many waits is done in turns. All requests between two turns of work() look up `looks_max`
//       keys for those whom they wake, and leave the rest to work(). (One wait may look up its
//       whole list beyond that.)
// Bounds
//   `KeyValueLimits`, and the budget: a session whose request goes beyond them is closed, and has
//   changed nothing. Only a request that keeps nothing may use the budget's reserve.
#pragma once

#include "rendezvous/result.hpp"
#include "rendezvous/store/reply_bytes.hpp"
#include "rendezvous/store/store_budget.hpp"
#include "rendezvous/store/store_codec.hpp"
#include "rendezvous/store/store_hash.hpp"
#include "rendezvous/store/store_value.hpp"
#include "rendezvous/store/store_waits.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ddprun {

struct StoreReply {
  SessionId session;
  ReplyBytes bytes;
};

struct KeyValueLimits {
  std::size_t keys_max = 1'000'000;
  std::size_t entry_bytes = 128;  ///< What each key, queued value, wait and watch costs besides.
  std::size_t watches_max = 100'000;  ///< A client of PyTorch has one for each callback.
  std::uint64_t looks_max = 100'000;  ///< For keys of woken waits, in a turn; some milliseconds.
};

class KeyValue {
 public:
  /// `budget` outlives it, and its replies.
  explicit KeyValue(StoreBudget& budget, KeyValueLimits limits = {}, const StoreHash& hash = {});

  /// What the request may take of the budget at most, with all replies that it causes.
  [[nodiscard]] std::size_t cost_of(const StoreRequest& request) const;
  /// Whether there is so much: else it is refused.
  [[nodiscard]] bool has_room_for(const StoreRequest& request) const;

  /// Performs one request and appends every reply that it causes, for any session, in the
  /// order in which they must be sent. An error means that this session must be closed.
  [[nodiscard]] Result<void> on_request(SessionId session,
                                        StoreDialect dialect,
                                        StoreRequest request,
                                        std::vector<StoreReply>& out);

  /// Whether waits are left that have been woken, and may be over, or no looks for the next ones.
  [[nodiscard]] bool has_work() const { return has_woken() || looks_left_ == 0; }
  /// Goes on with those, for one turn. Call it once in each turn of the loop while has_work().
  void work(std::vector<StoreReply>& out);

  /// Forgets the session's wait and watches.
  void on_session_lost(SessionId session);

  [[nodiscard]] std::size_t key_count() const { return data_.size(); }

 private:
  using Replies = std::vector<StoreReply>;

  [[nodiscard]] Result<void> perform(SessionId session, StoreRequest& request, Replies& out);
  [[nodiscard]] Result<void> put(std::string_view key, std::string value, Replies& out);
  [[nodiscard]] Result<void> add(SessionId session, const StoreRequest& request, Replies& out);
  [[nodiscard]] Result<void> compare_set(SessionId session, StoreRequest& request, Replies& out);
  [[nodiscard]] Result<void> append(StoreRequest& request, Replies& out);
  [[nodiscard]] Result<void> barrier(SessionId session, const StoreRequest& request, Replies& out);
  [[nodiscard]] Result<void> queue_push(StoreRequest& request, Replies& out);
  void wait(SessionId session, StoreTexts keys, Replies& out);
  [[nodiscard]] Result<void> watch(SessionId session, std::string_view key, Replies& out);
  [[nodiscard]] Result<void> multi_set(StoreRequest& request, Replies& out);
  [[nodiscard]] std::int64_t queue_length(std::string_view key) const;
  void queue_pop(SessionId session, std::string_view key, Replies& out);
  void delete_key(SessionId session, std::string_view key, Replies& out);
  void multi_get(SessionId session, const StoreTexts& keys, Replies& out) const;
  void list_keys(SessionId session, Replies& out) const;

  [[nodiscard]] std::size_t cost_of_key(std::string_view key) const;
  [[nodiscard]] std::size_t cost_of_watch(std::string_view key) const;
  [[nodiscard]] std::size_t cost_of_notices(std::string_view key) const;
  [[nodiscard]] bool keeps_nothing(const StoreRequest& request) const;
  [[nodiscard]] bool present(std::string_view key) const;
  [[nodiscard]] bool is_watched(std::string_view key) const {
    return !watchers_.empty() && watchers_.contains(key);
  }
  [[nodiscard]] bool all_present(const StoreTexts& keys) const;
  [[nodiscard]] Result<std::int64_t> increase(std::string_view key,
                                              std::int64_t delta,
                                              Replies& out);
  [[nodiscard]] Result<void> has_room_for_keys(std::size_t count) const;
  void on_key_appeared(std::string_view key, Replies& out);
  [[nodiscard]] bool has_woken() const { return !woken_.empty() || waits_.has_successor(); }
  void go_on_with_woken(Replies& out);
  [[nodiscard]] std::optional<SessionId> next_woken();
  void go_on(SessionId session, Replies& out);
  void tell_watchers(std::uint8_t kind,
                     std::string_view key,
                     const StoreValue& old_value,
                     const StoreValue& new_value,
                     Replies& out) const;

  KeyValueLimits limits_;
  StoreBudget& budget_;
  StoreCharge charge_;   // of entries_bytes_ and the waits; values charge for themselves
  StoreValue no_value_;  // empty
  StoreMap<StoreValue> data_;
  std::size_t key_bytes_ = 0;               // of data_
  StoreMap<std::list<StoreValue>> queues_;  // never an empty one; a deque begins with 600 bytes
  std::size_t entries_bytes_ = 0;           // of keys, queued values and watches
  StoreWaits waits_;
  std::deque<SessionId> woken_;  // due, in the order of waking; some may wait no longer
  std::uint64_t looks_left_;     // until the next turn of work()
  StoreHash hash_;
  StoreMap<std::set<std::int64_t>> watchers_;
  using Keys = std::unordered_set<std::string, StoreHash, std::equal_to<>>;
  std::unordered_map<std::int64_t, Keys> watched_;  // by session
  std::size_t watches_count_ = 0;
};

}  // namespace ddprun
