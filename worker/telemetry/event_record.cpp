#include "worker/telemetry/event_record.hpp"

#include <array>
#include <bit>

namespace ddprun::worker {
namespace {

constexpr std::array<std::uint32_t, 256> crc32c_table() {
  constexpr std::uint32_t polynomial = 0x82f63b78;  // Castagnoli's, bits reversed
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1U) != 0 ? polynomial : 0);
    table[byte] = rest;
  }
  return table;
}

/// TFRecord disguises its checksums, so that one of bytes that hold checksums stays meaningful.
std::uint32_t masked_crc32c(std::string_view bytes) {
  constexpr std::uint32_t offset = 0xa282ead8;
  return std::rotr(crc32c(bytes), 15) + offset;
}

std::string framed(const Message& event) {
  const std::string& content = event.encoded();
  std::string record;
  append_little_endian(record, std::uint64_t{content.size()});
  append_little_endian(record, masked_crc32c(record));
  record += content;
  append_little_endian(record, masked_crc32c(content));
  return record;
}

Message event_at(const EventTime& time) {
  return Message().real(1, time.seconds).integer(2, static_cast<std::uint64_t>(time.step));
}

}  // namespace

std::string version_record(double seconds) {
  return framed(
      Message().real(1, seconds).text(3, "brain.Event:2").message(10, Message().text(1, "ddprun")));
}

std::string start_record(const EventTime& time) {
  constexpr std::uint64_t session_start = 1;  // SessionLog.START
  return framed(event_at(time).message(7, Message().integer(1, session_start)));
}

std::string summary_record(const EventTime& time, const Message& value) {
  return framed(event_at(time).message(5, Message().message(1, value)));
}

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = crc32c_table();
  std::uint32_t rest = ~std::uint32_t{0};
  for (const char byte : bytes) {
    rest = table[(rest ^ static_cast<unsigned char>(byte)) & 0xffU] ^ rest >> 8;
  }
  return ~rest;
}

}  // namespace ddprun::worker
