// Virtual time: what is to happen, in one total order.
#pragma once

#include "rendezvous/units.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace ddprun::sim {

class Schedule {
 public:
  [[nodiscard]] Instant now() const { return now_; }

  /// Things due at one instant happen in the order in which they were put here.
  void at(Instant when, std::function<void()> what) {
    due_.emplace(std::pair(std::max(when, now_), ++sequence_), std::move(what));
  }
  void after(Millis pause, std::function<void()> what) { at(now_ + pause, std::move(what)); }

  /// Runs what is due next; false when nothing is due until `end`, which it is then.
  bool step(Instant end) {
    if (due_.empty() || due_.begin()->first.first > end) {
      now_ = std::max(now_, end);
      return false;
    }
    auto first = due_.extract(due_.begin());
    now_ = first.key().first;
    ++events_count_;
    first.mapped()();
    return true;
  }
  [[nodiscard]] std::int64_t events_count() const { return events_count_; }

 private:
  Instant now_;
  std::uint64_t sequence_ = 0;
  std::int64_t events_count_ = 0;
  std::map<std::pair<Instant, std::uint64_t>, std::function<void()>> due_;
};

}  // namespace ddprun::sim
