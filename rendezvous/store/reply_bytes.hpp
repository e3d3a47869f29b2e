// Bytes on their way to a client, in order: the reply's own, and values that it shares with the
// store. A reply is one, and so is all that a connection has not taken yet.
#pragma once

#include "rendezvous/store/store_value.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

class ReplyBytes {
 public:
  /// Of less, a copy costs about as much as a part that is shared.
  static constexpr std::size_t share_from = 128;
  /// What add_value() adds to held() at most.
  static constexpr std::size_t value_cost_max = sizeof(std::uint64_t) + share_from;

  /// What is appended to these bytes comes after all that is there.
  [[nodiscard]] std::string& own() { return own_; }
  /// The length of the value, and the value: shared, or copied if it is small.
  void add_value(const StoreValue& value);
  void append(ReplyBytes&& more);

  [[nodiscard]] bool empty() const { return left_in_shared_ == 0 && own_sent_ == own_.size(); }
  /// Bytes that are left to send.
  [[nodiscard]] std::uint64_t size() const { return left_in_shared_ + own_.size() - own_sent_; }
  /// The memory that it takes besides the shared values.
  [[nodiscard]] std::size_t held() const {
    return own_.size() + shared_.size() * sizeof(SharedPart);
  }
  /// The bytes of values that are left to send, and that the store does not hold any more.
  [[nodiscard]] std::size_t held_of_old() const;
  /// Fills `views` with the next bytes, `bytes_max` of them at most, and returns how many of the
  /// views it has used. They are valid until the next change.
  [[nodiscard]] std::size_t front(std::span<std::string_view> views, std::size_t bytes_max) const;
  /// So many of the next bytes have been sent.
  void drop_front(std::size_t bytes);

  /// All that is left to send, in one piece.
  [[nodiscard]] std::string text() const;

 private:
  struct SharedPart {
    std::size_t at = 0;  // it comes before this byte of own_
    std::shared_ptr<const ChargedText> value;
  };
  void drop_whole_parts();

  std::string own_;
  std::vector<SharedPart> shared_;
  std::size_t own_sent_ = 0;
  std::size_t first_shared_ = 0;  // those before it have been sent
  std::size_t first_sent_ = 0;    // bytes of that one
  std::uint64_t left_in_shared_ = 0;
};

}  // namespace ddprun
