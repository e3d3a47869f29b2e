// Reads numbers and texts from a fuzzer's bytes; at their end it goes on with zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ddprun::fuzz {

class Choices {
 public:
  explicit Choices(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] bool is_at_end() const { return left_.empty(); }

  [[nodiscard]] std::uint8_t byte() {
    if (left_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(left_.front());
    left_.remove_prefix(1);
    return first;
  }

  /// From 0 to before `count`, of one byte.
  [[nodiscard]] std::size_t below(std::size_t count) { return byte() % count; }

  /// At most so many bytes.
  [[nodiscard]] std::string_view text(std::size_t bytes_max) {
    const std::string_view taken = left_.substr(0, bytes_max);
    left_.remove_prefix(taken.size());
    return taken;
  }

  [[nodiscard]] std::string_view rest() { return text(left_.size()); }

 private:
  std::string_view left_;
};

/// Calls `take(piece)` for `bytes` in pieces, whose sizes a number chooses: that code which reads a
/// stream makes the same of it in whatever pieces it comes is a rule of most targets.
template <typename Take>
void in_pieces(std::string_view bytes, std::uint8_t number, const Take& take) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(1 + number % 8, bytes.size());
    take(bytes.substr(0, size));
    bytes.remove_prefix(size);
    number = static_cast<std::uint8_t>(number * 5 + 1);
  }
}

}  // namespace ddprun::fuzz
