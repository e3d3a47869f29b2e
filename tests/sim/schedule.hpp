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
    if (free_.empty()) {
      free_.push_back(things_.size());
      things_.emplace_back();
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    things_[place] = std::move(what);
    due_.push_back({std::max(when, now_), ++sequence_, place});
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
    const Entry first = due_.back();
    due_.pop_back();
    now_ = first.when;
    ++events_count_;
    const std::function<void()> what = std::move(things_[first.place]);
    free_.push_back(first.place);
    what();
    return true;
  }
  [[nodiscard]] std::int64_t events_count() const { return events_count_; }

 private:
  struct Entry {
    Instant when;
    std::uint64_t sequence = 0;
    std::size_t place = 0;
  };
  struct Later {
    bool operator()(const Entry& one, const Entry& other) const {
      return one.when == other.when ? one.sequence > other.sequence : one.when > other.when;
    }
  };

  Instant now_;
  std::uint64_t sequence_ = 0;
  std::int64_t events_count_ = 0;
  std::vector<Entry> due_;                     // a heap: what is due next comes first
  std::vector<std::function<void()>> things_;  // at the entries' places: a heap moves much
  std::vector<std::size_t> free_;              // places there
};

}  // namespace ddprun::sim
