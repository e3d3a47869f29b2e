// Messages that arrive once and in order, although connections come and go.
#pragma once

#include "rendezvous/units.hpp"

#include <cstdint>
#include <deque>
#include <utility>

namespace ddprun {

/// A message with its place in the order of all from one sender to one receiver, from 1.
template <typename Message>
struct Numbered {
  std::int64_t number = 0;
  Message message;
  friend bool operator==(const Numbered&, const Numbered&) = default;
};

/// The sender's side: messages that the other side has not confirmed yet, in order, to be repeated
/// on each new connection. Its owner bounds its length: no owner has more than a few open
/// questions and one answer for each of its workers.
template <typename Message>
class Outbox {
 public:
  const Numbered<Message>& push(Message message) {
    unconfirmed_.push_back({++newest_, std::move(message)});
    return unconfirmed_.back();
  }
  /// The other side has all messages up to `number`.
  void confirm(std::int64_t number) {
    while (!unconfirmed_.empty() && unconfirmed_.front().number <= number) unconfirmed_.pop_front();
  }
  [[nodiscard]] const std::deque<Numbered<Message>>& unconfirmed() const { return unconfirmed_; }

  friend bool operator==(const Outbox&, const Outbox&) = default;

 private:
  std::int64_t newest_ = 0;
  std::deque<Numbered<Message>> unconfirmed_;
};

/// The receiver's side.
class Inbox {
 public:
  /// Whether the message of this number is the next one. Another is a repetition, or follows one
  /// that was lost with its connection and will be sent again.
  [[nodiscard]] bool accept(std::int64_t number) {
    if (number != newest_ + 1) return false;
    newest_ = number;
    return true;
  }
  [[nodiscard]] std::int64_t newest() const { return newest_; }

  friend bool operator==(const Inbox&, const Inbox&) = default;

 private:
  std::int64_t newest_ = 0;
};

}  // namespace ddprun
