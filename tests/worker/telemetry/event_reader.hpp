// A reader of event files for tests, which shares no code with the writer: frames with their
// checksums, and protocol buffers as lists of fields.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::worker::test {

inline std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint32_t rest = 0xffffffff;
  for (const char byte : bytes) {
    rest ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) * 0x82f63b78U);
  }
  return rest ^ 0xffffffff;
}

/// A number of little-endian bytes; this machine's numbers are such.
template <typename Number>
Number number_at(std::string_view bytes, std::size_t at) {
  if (at + sizeof(Number) > bytes.size()) throw std::runtime_error("cut off");
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

/// The contents of all whole records; throws for a wrong checksum.
inline std::vector<std::string> records_of(std::string_view file) {
  const auto check = [](std::string_view bytes, std::uint32_t masked) {
    const std::uint32_t rotated = masked - 0xa282ead8;
    if (slow_crc32c(bytes) != (rotated << 15 | rotated >> 17)) {
      throw std::runtime_error("wrong checksum");
    }
  };
  std::vector<std::string> records;
  while (file.size() >= 12) {
    const auto size = number_at<std::uint64_t>(file, 0);
    check(file.substr(0, 8), number_at<std::uint32_t>(file, 8));
    if (file.size() - 12 < size || file.size() - 12 - size < 4) break;
    records.emplace_back(file.substr(12, size));
    check(records.back(), number_at<std::uint32_t>(file, 12 + size));
    file.remove_prefix(16 + size);
  }
  return records;
}

struct Field {
  unsigned number;
  std::uint64_t integer;  ///< Of a varint.
  std::string bytes;      ///< Of the others.
};

/// The fields of one message; throws if it is none.
class Fields {
 public:
  explicit Fields(std::string_view message) {
    while (!message.empty()) {
      const std::uint64_t key = take_varint(message);
      Field field{static_cast<unsigned>(key >> 3), 0, ""};
      const auto type = static_cast<unsigned>(key & 7);
      if (type == 0) {
        field.integer = take_varint(message);
      } else {
        const std::size_t size = type == 1 ? 8 : type == 5 ? 4 : take_varint(message);
        if (size > message.size()) throw std::runtime_error("cut off");
        field.bytes = message.substr(0, size);
        message.remove_prefix(size);
      }
      fields_.push_back(field);
    }
  }

  [[nodiscard]] bool has(unsigned number) const { return find(number) != nullptr; }
  [[nodiscard]] std::int64_t integer(unsigned number) const {
    return static_cast<std::int64_t>(the(number).integer);
  }
  [[nodiscard]] std::string bytes(unsigned number) const { return the(number).bytes; }
  [[nodiscard]] Fields message(unsigned number) const { return Fields(the(number).bytes); }
  [[nodiscard]] double real(unsigned number) const {
    return number_at<double>(the(number).bytes, 0);
  }
  [[nodiscard]] float real32(unsigned number) const {
    return number_at<float>(the(number).bytes, 0);
  }
  [[nodiscard]] std::size_t count() const { return fields_.size(); }

 private:
  static std::uint64_t take_varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = number_at<unsigned char>(bytes, 0);
      bytes.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  [[nodiscard]] const Field* find(unsigned number) const {
    for (const Field& each : fields_) {
      if (each.number == number) return &each;
    }
    return nullptr;
  }
  [[nodiscard]] const Field& the(unsigned number) const {
    const Field* found = find(number);
    if (found == nullptr) throw std::runtime_error("no field " + std::to_string(number));
    return *found;
  }

  std::vector<Field> fields_;
};

}  // namespace ddprun::worker::test
