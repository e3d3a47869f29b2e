// Who waits in the store, and for which keys.
//
// Clients that wait for the same list share it, and what one of them has found there. So where many
// clients wait for a key of each of them, the last one costs one look at the list, not one for each
// client.
//
// Invariants
//   B1  A session has at most one wait. It is filed under one key, the first of its list that it
//       has not seen, or is due: it has been taken from there and not gone on yet.
//   B2  What a list remembers to be present is present: a key's end makes all lists forget it.
//   B3  What a list remembers to be missing is missing: whenever a key comes, take_all() or
//       take_first() is called for it, and makes all lists forget.
//   B4  A value in a queue ends one wait, if any waits for the queue's key alone: a session that
//       is due by it and waits on for another key, or no longer, has a successor.
// Bounds
//   None of its own: bytes() is what KeyValue counts.
#pragma once

#include "rendezvous/store/store_hash.hpp"
#include "rendezvous/units.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ddprun {

class StoreWaits {
 public:
  using IsPresent = std::function<bool(std::string_view key)>;

  /// `entry_bytes`: what a wait, and a key in a list, cost beside the key's bytes.
  StoreWaits(std::size_t entry_bytes, const StoreHash& hash);

  /// The session, which does not wait, waits for all of `keys`. It is due.
  void begin(SessionId session, StoreTexts keys);
  /// What begin() would add to bytes(), at most.
  [[nodiscard]] std::size_t bytes_of(const StoreTexts& keys) const;

  /// The session, which does not wait, waits at the barrier `key`.
  void begin_at_barrier(SessionId session, std::string_view key);

  /// A due session goes on to the first key of its list that is not present, and is filed there.
  /// True if there is none: its wait is over. Nothing, for a session that is not due.
  [[nodiscard]] bool go_on(SessionId session, const IsPresent& is_present);
  /// How many keys go_on() has looked for since the beginning.
  [[nodiscard]] std::uint64_t looks() const { return looks_; }

  /// Those filed under `key`, in the order of filing, which are due now.
  [[nodiscard]] std::vector<SessionId> take_all(std::string_view key);
  /// The first of those: a value has come into the queue of this name.
  [[nodiscard]] std::optional<SessionId> take_first(std::string_view key);
  /// B4: a session that is due now, since the one before it has left the value.
  [[nodiscard]] std::optional<SessionId> take_successor();
  [[nodiscard]] bool has_successor() const { return !successors_.empty(); }
  /// Those at the barrier, in the order of arrival, which wait no longer.
  [[nodiscard]] std::vector<SessionId> open_barrier(std::string_view key);

  /// Ends the session's wait, if it has one.
  void forget(SessionId session);
  /// A key is there no longer.
  void on_deleted() { ++deletions_; }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  using Queue = std::map<std::uint64_t, SessionId>;  // in the order of filing
  using Sessions = StoreMap<Queue>;

  struct KeyList {
    StoreTexts keys;
    std::size_t hash = 0;
    std::size_t bytes = 0;
    // those from `present_from` to before `present_to` were present when `deletions` had been made
    std::size_t present_from = 0;
    std::size_t present_to = 0;
    std::uint64_t deletions = 0;
    std::size_t missing = 0;  // the key there was missing when `comings` had come
    std::uint64_t comings = 0;
    // where a wait for its key at `queue_of` is filed, until `queues_ended` changes
    Queue* queue = nullptr;
    std::size_t queue_of = 0;
    std::uint64_t queues_ended = 0;
  };
  struct HashOfList {
    std::size_t operator()(const std::shared_ptr<KeyList>& list) const { return list->hash; }
  };
  struct SameList {
    bool operator()(const std::shared_ptr<KeyList>& one,
                    const std::shared_ptr<KeyList>& other) const {
      return one->keys == other->keys;
    }
  };
  struct Wait {
    std::shared_ptr<KeyList> list;
    std::size_t next = 0;  // keys before this one have been seen
    bool is_due = true;
    bool has_come = false;   // due, as the key that it was filed under has come
    bool has_value = false;  // due, as a value has come into the queue of that key
    bool is_barrier = false;
    std::uint64_t place = 0;  // where it is filed
  };

  [[nodiscard]] std::shared_ptr<KeyList> shared_list(StoreTexts keys);

  void file(SessionId session, Wait& wait, Queue& where);
  /// Of those who wait for this key of the list: found once for all who share the list.
  [[nodiscard]] Queue& queue_at(KeyList& list, std::size_t index);
  void end_queue(Sessions& all, Sessions::iterator ended);
  [[nodiscard]] std::optional<SessionId> take_one(std::string_view key);
  void pass_value_on(std::string_view key);

  std::size_t entry_bytes_;
  StoreHash hash_;
  std::unordered_set<std::shared_ptr<KeyList>, HashOfList, SameList> lists_;
  std::unordered_map<std::int64_t, Wait> waits_;  // by session
  Sessions filed_;
  Sessions at_barrier_;
  std::deque<SessionId> successors_;  // due; some may wait no longer
  std::uint64_t filings_ = 0;
  std::uint64_t deletions_ = 0;
  std::uint64_t comings_ = 1;
  std::uint64_t queues_ended_ = 0;
  std::uint64_t looks_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace ddprun
