#include "rendezvous/store/store_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ddprun {
namespace {

constexpr std::uint8_t no_code = 0xff;
constexpr std::uint8_t watch_key_code = 7;
constexpr std::string_view validate_magic("\xce\xf7\x85\x3c", 4);

/// A code for each dialect. `fields`: k key, v value, n number of 8 bytes, u number of 4; after `*`
/// comes a counted list of the rest. Codes were read off clients of PyTorch 1.13.1, 2.1.2, 2.6 and
/// 2.14.
struct Layout {
  StoreOperation operation;
  std::uint8_t legacy_code;
  std::uint8_t code_of_2_1;
  std::uint8_t validated_code;
  const char* fields;
};
constexpr std::array layouts{
    Layout{StoreOperation::set, 0, 0, 1, "kv"},
    Layout{StoreOperation::compare_set, 1, 1, 2, "kvv"},
    Layout{StoreOperation::get, 2, 2, 3, "k"},
    Layout{StoreOperation::add, 3, 3, 4, "kn"},
    Layout{StoreOperation::check, 4, 4, 5, "*k"},
    Layout{StoreOperation::wait, 5, 5, 6, "*k"},
    Layout{StoreOperation::count_keys, 6, 6, 7, ""},
    Layout{StoreOperation::watch_key, watch_key_code, no_code, no_code, "k"},
    Layout{StoreOperation::delete_key, 8, 7, 8, "k"},
    Layout{StoreOperation::append, no_code, 8, 9, "kv"},
    Layout{StoreOperation::multi_get, no_code, 9, 10, "*k"},
    Layout{StoreOperation::multi_set, no_code, 10, 11, "*kv"},
    Layout{StoreOperation::cancel_wait, no_code, 11, 12, ""},
    Layout{StoreOperation::ping, no_code, no_code, 13, "u"},
    Layout{StoreOperation::queue_push, no_code, no_code, 14, "kv"},
    Layout{StoreOperation::queue_pop, no_code, no_code, 15, "k"},
    Layout{StoreOperation::queue_length, no_code, no_code, 16, "k"},
    Layout{StoreOperation::list_keys, no_code, no_code, 17, ""},
    Layout{StoreOperation::barrier, no_code, no_code, 18, "kn"},
};

std::uint8_t code_in(StoreDialect dialect, const Layout& layout) {
  if (dialect == StoreDialect::legacy) return layout.legacy_code;
  return dialect == StoreDialect::torch_2_1 ? layout.code_of_2_1 : layout.validated_code;
}

const Layout* layout_of(StoreDialect dialect, std::uint8_t code) {
  const auto found = std::ranges::find_if(
      layouts, [&](const Layout& layout) { return code == code_in(dialect, layout); });
  return found == layouts.end() || code == no_code ? nullptr : &*found;
}

Error malformed(std::string why) {
  return {ExitStatus::system_refused,
          "store request refused",
          std::move(why),
          "the connection is closed"};
}

/// Codes that without a greeting only PyTorch 2.1 sends. Of its others, 7 is watch_key before 2.1,
/// on a connection that begins with one, and 8 is delete_key.
bool shows_2_1(std::uint8_t code) {
  return code >= 9 && code <= 11;
}

void encode_little_endian(std::uint64_t number, std::size_t width, std::string& out) {
  std::array<char, sizeof number> bytes;
  for (std::size_t i = 0; i < width; ++i) bytes[i] = static_cast<char>(number >> (8 * i) & 0xff);
  out.append(bytes.data(), width);
}

std::uint64_t decode_little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return number;
}

}  // namespace

Result<void> StoreDecoder::feed(std::string_view bytes, std::vector<StoreRequest>& out) {
  while (!bytes.empty()) {
    if (dialect_ == StoreDialect::unknown) {
      const auto learnt = learn_dialect(static_cast<std::uint8_t>(bytes.front()));
      if (!learnt) return learnt;
      bytes.remove_prefix(1);
      const bool is_greeting = dialect_ == StoreDialect::validated;  // which is no request
      if (is_greeting || dialect_ == StoreDialect::unknown) continue;
      const std::string opening = std::exchange(opening_, {});
      if (auto replayed = feed(opening, out); !replayed) return replayed;
    } else if (field_ == nullptr) {
      if (auto begun = begin(static_cast<std::uint8_t>(bytes.front())); !begun) return begun;
      bytes.remove_prefix(1);
      if (*field_ == '\0') end_request(out);
    } else {
      const Result<bool> whole = take_field(bytes);
      if (!whole) return whole.error();
      if (*whole) end_field(out);
    }
  }
  return {};
}

void StoreDecoder::assume_2_1() {
  legacy_ = StoreDialect::torch_2_1;
  if (dialect_ == StoreDialect::legacy && !watches_) dialect_ = legacy_;
}

/// A first byte of 0 opens a validated connection if the magic follows. Else it is a set without a
/// greeting, whose key would be over a gigabyte long if it began with the magic.
Result<void> StoreDecoder::learn_dialect(std::uint8_t byte) {
  opening_.push_back(static_cast<char>(byte));
  if (opening_.front() == '\0') {
    const std::string_view seen = std::string_view(opening_).substr(1);
    if (seen != validate_magic.substr(0, seen.size())) dialect_ = legacy_;
    if (seen != validate_magic) return {};
    dialect_ = StoreDialect::validated;
    opening_.clear();
    return {};
  }
  if (shows_2_1(byte)) assume_2_1();
  if (layout_of(legacy_, byte) == nullptr) {
    return malformed(
        fmt::format("a connection that opens with byte {:#04x} is no PyTorch client", byte));
  }
  watches_ = legacy_ == StoreDialect::legacy && byte == watch_key_code;
  dialect_ = legacy_;
  return {};
}

Result<void> StoreDecoder::begin(std::uint8_t code) {
  const bool is_of_2_1 = shows_2_1(code) || code == watch_key_code;
  if (dialect_ == StoreDialect::legacy && is_of_2_1) assume_2_1();
  const Layout* layout = layout_of(dialect_, code);
  if (layout == nullptr) return malformed(fmt::format("there is no operation {}", code));
  request_.operation = layout->operation;
  request_.keys.clear();
  request_.values.clear();
  request_.number = 0;
  request_bytes_ = 0;
  repeats_left_ = 0;
  field_ = layout->fields;
  return {};
}

Result<bool> StoreDecoder::take_field(std::string_view& bytes) {
  switch (*field_) {
    case 'k':
      return take_string(bytes, limits_.key_bytes_max, request_.keys);
    case 'v':
      return take_string(bytes, limits_.value_bytes_max, request_.values);
    case '*':
      return take_count(bytes);
    default: {
      if (!take_number(bytes, *field_ == 'u' ? 4 : 8)) return false;
      request_.number = static_cast<std::int64_t>(number_);
      return true;
    }
  }
}

bool StoreDecoder::take_number(std::string_view& bytes, std::size_t width) {
  if (number_bytes_.empty() && bytes.size() >= width) {  // most come whole
    number_ = decode_little_endian(bytes.substr(0, width));
    bytes.remove_prefix(width);
    return true;
  }
  const std::size_t taken = std::min(width - number_bytes_.size(), bytes.size());
  number_bytes_.append(bytes.substr(0, taken));
  bytes.remove_prefix(taken);
  if (number_bytes_.size() < width) return false;
  number_ = decode_little_endian(number_bytes_);
  number_bytes_.clear();
  return true;
}

Result<bool> StoreDecoder::take_count(std::string_view& bytes) {
  if (!take_number(bytes, 8)) return false;
  if (number_ > limits_.keys_per_request_max) {
    return malformed(fmt::format(
        "{} keys in one request, at most {} are allowed", number_, limits_.keys_per_request_max));
  }
  repeats_left_ = number_;
  repeated_ = field_ + 1;
  const std::size_t arrived_max = bytes.size() / sizeof(std::uint64_t);  // a length for each
  request_.keys.reserve(std::min<std::size_t>(number_, arrived_max));
  return true;
}

Result<bool> StoreDecoder::take_string(std::string_view& bytes,
                                       std::uint64_t bytes_max,
                                       StoreTexts& out) {
  if (!in_string_) {
    if (!take_number(bytes, 8)) return false;
    if (number_ > bytes_max) {
      return malformed(fmt::format("a {} of {} bytes, at most {} are allowed",
                                   *field_ == 'k' ? "key" : "value",
                                   number_,
                                   bytes_max));
    }
    if (number_ > limits_.request_bytes_max - request_bytes_) {
      return malformed(fmt::format("a request of more than {} bytes", limits_.request_bytes_max));
    }
    request_bytes_ += number_;
    string_bytes_left_ = number_;
    in_string_ = true;
    out.push_back({});
    held_ += sizeof(std::size_t);
  }
  const std::size_t taken = std::min<std::uint64_t>(string_bytes_left_, bytes.size());
  out.append(bytes.substr(0, taken));
  held_ += taken;
  bytes.remove_prefix(taken);
  string_bytes_left_ -= taken;
  in_string_ = string_bytes_left_ > 0;
  return !in_string_;
}

void StoreDecoder::end_field(std::vector<StoreRequest>& out) {
  const bool empty_list = *field_ == '*' && repeats_left_ == 0;
  ++field_;
  if (empty_list) return end_request(out);
  if (*field_ != '\0') return;
  if (repeats_left_ <= 1) return end_request(out);
  --repeats_left_;
  field_ = repeated_;
}

void StoreDecoder::end_request(std::vector<StoreRequest>& out) {
  out.push_back(std::move(request_));
  field_ = nullptr;
  held_ = 0;
}

std::size_t bytes_of(const StoreRequest& request) {
  return sizeof request + request.keys.memory() + request.values.memory();
}

std::string encode_ping(std::uint32_t nonce) {
  const auto ping = std::ranges::find(layouts, StoreOperation::ping, &Layout::operation);
  std::string bytes;
  encode_byte(0, bytes);
  bytes += validate_magic;
  encode_byte(ping->validated_code, bytes);
  encode_u32(nonce, bytes);
  return bytes;
}

void encode_byte(std::uint8_t byte, std::string& out) {
  out.push_back(static_cast<char>(byte));
}

void encode_u32(std::uint32_t number, std::string& out) {
  encode_little_endian(number, 4, out);
}

void encode_i64(std::int64_t number, std::string& out) {
  encode_little_endian(static_cast<std::uint64_t>(number), 8, out);
}

void encode_string(std::string_view text, std::string& out) {
  encode_little_endian(text.size(), 8, out);
  out.append(text);
}

}  // namespace ddprun
