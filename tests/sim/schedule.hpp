// Virtual time: what is to happen, in one total order.
#pragma once

#include "rendezvous/units.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace ddprun::sim {

class Schedule {
 public:
  [[nodiscard]] Instant now() const { return now_; }

  /// Things due at one instant happen in the order in which they were put here.
  void at(Instant when, std::function<void()> what) {
    due_.push_back({std::max(when, now_), ++sequence_, std::move(what)});
    std::ranges::push_heap(due_, Later{});
  }
  void after(Millis pause, std::function<void()> what) { at(now_ + pause, std::move(what)); }

  /// Runs what is due next; false when nothing is due until `end`, which it is then.
  bool step(Instant end) {
    if (due_.empty() || due_.front().when > end) {
      now_ = std::max(now_, end);
      return false;
    }
    std::ranges::pop_heap(due_, Later{});
    const Entry first = std::move(due_.back());
    due_.pop_back();
    now_ = first.when;
    ++events_count_;
    first.what();
    return true;
  }
  [[nodiscard]] std::int64_t events_count() const { return events_count_; }

 private:
  struct Entry {
    Instant when;
    std::uint64_t sequence = 0;
    std::function<void()> what;
  };
  struct Later {
    bool operator()(const Entry& one, const Entry& other) const {
      return one.when == other.when ? one.sequence > other.sequence : one.when > other.when;
    }
  };

  Instant now_;
  std::uint64_t sequence_ = 0;
  std::int64_t events_count_ = 0;
  std::vector<Entry> due_;  // a heap: what is due next comes first
};

}  // namespace ddprun::sim
