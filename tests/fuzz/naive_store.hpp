// The workers' store as simple as it can be: what KeyValue must answer, without its bounds and
// without any thought of speed.
#pragma once

#include "rendezvous/store/store_codec.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ddprun::fuzz {

class NaiveStore {
 public:
  /// What each session hears, in one piece.
  using Heard = std::map<std::int64_t, std::string>;

  /// False: the session must be closed.
  [[nodiscard]] bool on_request(std::int64_t session,
                                StoreDialect dialect,
                                const StoreRequest& request,
                                Heard& heard);
  void on_session_lost(std::int64_t session);

 private:
  struct Waiter {
    std::int64_t session = 0;
    std::vector<std::string> keys;
    std::size_t next = 0;
    bool is_at_barrier = false;
    [[nodiscard]] bool waits_for(const std::string& key) const {
      return !is_at_barrier && keys[next] == key;
    }
  };

  [[nodiscard]] std::string value_or_empty(const std::string& key) const;
  [[nodiscard]] bool is_present(const std::string& key) const;
  void put(const std::string& key, const std::string& value, Heard& heard);
  [[nodiscard]] bool add(const std::string& key, std::int64_t delta, Heard& heard);
  void barrier(std::int64_t session, const StoreRequest& request, Heard& heard);
  void compare_set(std::int64_t session, const StoreRequest& request, Heard& heard);
  void queue_pop(std::int64_t session, const std::string& key, Heard& heard);
  void answer(std::int64_t session, const StoreRequest& request, Heard& heard);
  void wake(const std::string& key, Heard& heard);
  void wake_for_value(const std::string& key, Heard& heard);
  bool go_on(Waiter waiter, Heard& heard);
  void forget_wait(std::int64_t session);
  void tell_watchers(std::uint8_t kind,
                     const std::string& key,
                     const std::string& before,
                     const std::string& after,
                     Heard& heard) const;

  std::map<std::string, std::string> data_;
  std::map<std::string, std::deque<std::string>> queues_;
  std::vector<Waiter> waiters_;  // in the order of their latest move
  std::map<std::string, std::set<std::int64_t>> watchers_;
};

}  // namespace ddprun::fuzz
