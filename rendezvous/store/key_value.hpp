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
// Bounds
//   `KeyValueLimits`; a session whose request goes beyond them is closed.
#pragma once

#include "rendezvous/result.hpp"
#include "rendezvous/store/store_codec.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace ddprun {

struct StoreReply {
  SessionId session;
  std::string bytes;  ///< Encoded; one reply is sent as one piece.
  friend bool operator==(const StoreReply&, const StoreReply&) = default;
};

struct KeyValueLimits {
  std::size_t keys_max = 4'000'000;
  std::size_t bytes_max = std::size_t{1} << 30;        ///< Keys, values and queued values together.
  std::size_t reply_bytes_max = std::size_t{1} << 28;  ///< Of one reply, whatever it collects.
};

class KeyValue {
 public:
  explicit KeyValue(KeyValueLimits limits = {}) : limits_(limits) {}

  /// Performs one request and appends every reply that it causes, for any session, in the
  /// order in which they must be sent. An error means that this session must be closed.
  [[nodiscard]] Result<void> on_request(SessionId session,
                                        StoreDialect dialect,
                                        StoreRequest request,
                                        std::vector<StoreReply>& out);

  /// Forgets the session's wait and watches.
  void on_session_lost(SessionId session);

  [[nodiscard]] std::size_t key_count() const { return data_.size(); }

 private:
  struct Wait {
    std::vector<std::string> keys;
    std::size_t next = 0;  // keys before this one have been seen
    bool barrier = false;
    std::size_t bytes = 0;  // of the keys, counted in bytes_
  };
  using Replies = std::vector<StoreReply>;
  using Sessions = std::unordered_map<std::string, std::deque<SessionId>>;

  [[nodiscard]] Result<void> put(const std::string& key, std::string value, Replies& out);
  [[nodiscard]] Result<void> add(SessionId session, const StoreRequest& request, Replies& out);
  [[nodiscard]] Result<void> compare_set(SessionId session, StoreRequest& request, Replies& out);
  [[nodiscard]] Result<void> append(StoreRequest& request, Replies& out);
  [[nodiscard]] Result<void> barrier(SessionId session, const StoreRequest& request, Replies& out);
  [[nodiscard]] Result<void> queue_push(StoreRequest& request, Replies& out);
  [[nodiscard]] Result<void> wait(SessionId session, std::vector<std::string> keys, Replies& out);
  [[nodiscard]] Result<void> watch(SessionId session, const std::string& key, Replies& out);
  [[nodiscard]] Result<void> multi_set(StoreRequest& request, Replies& out);
  [[nodiscard]] std::int64_t queue_length(const std::string& key) const;
  void queue_pop(SessionId session, const std::string& key, Replies& out);
  void delete_key(SessionId session, const std::string& key, Replies& out);
  [[nodiscard]] Result<void> multi_get(SessionId session,
                                       const std::vector<std::string>& keys,
                                       Replies& out) const;
  [[nodiscard]] Result<void> list_keys(SessionId session, Replies& out) const;

  [[nodiscard]] bool present(const std::string& key) const;
  [[nodiscard]] bool all_present(const std::vector<std::string>& keys) const;
  [[nodiscard]] std::string value_or_empty(const std::string& key) const;
  [[nodiscard]] Result<std::int64_t> increase(const std::string& key,
                                              std::int64_t delta,
                                              Replies& out);
  [[nodiscard]] Result<void> reserve(std::size_t more_keys, std::size_t more_bytes) const;
  [[nodiscard]] Error reply_too_large() const;
  void on_key_appeared(const std::string& key, Replies& out);
  void continue_wait(SessionId session, Replies& out);
  void forget_wait(SessionId session);
  void end_wait(SessionId session);
  void tell_watchers(std::uint8_t kind,
                     const std::string& key,
                     const std::string& old_value,
                     const std::string& new_value,
                     Replies& out) const;

  KeyValueLimits limits_;
  std::unordered_map<std::string, std::string> data_;
  std::unordered_map<std::string, std::deque<std::string>> queues_;  // never an empty one
  std::size_t bytes_ = 0;
  std::unordered_map<std::int64_t, Wait> waits_;  // by session
  Sessions waiting_for_key_;                      // under the first key that each has not yet seen
  Sessions waiting_at_barrier_;
  Sessions watchers_;
};

}  // namespace ddprun
