// Events of a machine, delivered one after the other: events that one causes come after it.
#pragma once

#include <deque>
#include <utility>

namespace ddprun {

template <typename Event>
class EventQueue {
 public:
  void push(Event event) { events_.push_back(std::move(event)); }
  void clear() { events_.clear(); }

  /// Calls `feed` with each event that is there or comes meanwhile, in order. Returns false and
  /// does nothing where that is under way already: then whoever does it goes on with these.
  template <typename Feed>
  bool drain(const Feed& feed) {
    if (std::exchange(draining_, true)) return false;
    while (!events_.empty()) {
      const Event next = std::move(events_.front());
      events_.pop_front();
      feed(next);
    }
    draining_ = false;
    return true;
  }

  friend bool operator==(const EventQueue&, const EventQueue&) = default;

 private:
  std::deque<Event> events_;
  bool draining_ = false;
};

}  // namespace ddprun
