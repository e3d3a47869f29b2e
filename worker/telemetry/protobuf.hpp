// The wire format of protocol buffers, as far as event files need it. By hand: LibTorch brings a
// protobuf library of its own, and a second one in a process gets in its way.
#pragma once

#include "worker/telemetry/utf8.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::worker {

/// Appends `value`, its lowest byte first.
template <typename Unsigned>
void append_little_endian(std::string& bytes, Unsigned value) {
  for (unsigned shift = 0; shift < 8 * sizeof value; shift += 8) {
    bytes += static_cast<char>(value >> shift & 0xffU);
  }
}

/// A message under construction. Fields are encoded in the order of the calls.
class Message {
 public:
  /// Also for bool and enumerations; a negative number is cast, as its type int64 has it.
  Message& integer(unsigned field, std::uint64_t value) {
    begin(field, WireType::varint);
    varint(value);
    return *this;
  }
  Message& real(unsigned field, double value) {
    begin(field, WireType::eight_bytes);
    append_little_endian(encoded_, std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  Message& real32(unsigned field, float value) {
    begin(field, WireType::four_bytes);
    append_little_endian(encoded_, std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  Message& reals(unsigned field, const std::vector<double>& values) {
    begin(field, WireType::counted);
    varint(values.size() * sizeof(double));
    for (const double value : values) {
      append_little_endian(encoded_, std::bit_cast<std::uint64_t>(value));
    }
    return *this;
  }
  Message& bytes(unsigned field, std::string_view value) {
    begin(field, WireType::counted);
    varint(value.size());
    encoded_ += value;
    return *this;
  }
  /// Bytes that are no UTF-8 are replaced: readers refuse them in a field of this type.
  Message& text(unsigned field, std::string_view value) { return bytes(field, as_utf8(value)); }
  Message& message(unsigned field, const Message& value) { return bytes(field, value.encoded_); }

  [[nodiscard]] const std::string& encoded() const { return encoded_; }

 private:
  enum class WireType : unsigned { varint = 0, eight_bytes = 1, counted = 2, four_bytes = 5 };

  void begin(unsigned field, WireType type) { varint(field << 3 | static_cast<unsigned>(type)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) encoded_ += static_cast<char>(value | 0x80);
    encoded_ += static_cast<char>(value);
  }

  std::string encoded_;
};

}  // namespace ddprun::worker
