#include "rendezvous/wire/message_codec.hpp"

#include "rendezvous/printable.hpp"
#include "rendezvous/wire/message_fields.hpp"
#include "rendezvous/wire/message_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace ddprun {
namespace {

class Writer {
 public:
  /// The bounds are the reader's business.
  template <std::integral T>
  void integer(const T& value, std::type_identity_t<T> = {}, std::type_identity_t<T> = {}) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<char>(bits >> (8 * i) & 0xff));
    }
  }
  template <typename Enum>
  void choice(const Enum& value, Enum) {
    integer(static_cast<std::uint8_t>(value));
  }
  void string(std::string_view text, std::size_t bytes_max) {
    const std::string kept = printable(text.substr(0, bytes_max));
    integer(static_cast<std::uint32_t>(kept.size()));
    bytes_ += kept;
  }
  template <std::size_t Count>
  void bytes(const std::array<std::uint8_t, Count>& given) {
    bytes_.append(given.begin(), given.end());
  }
  void flag(const bool& value) { integer(static_cast<std::uint8_t>(value ? 1 : 0)); }
  template <typename T>
  void optional(const std::optional<T>& part) {
    flag(part.has_value());
    if (part) fields(*this, *part);
  }
  template <typename T>
  void list(const std::vector<T>& elements, std::size_t) {
    integer(static_cast<std::uint32_t>(elements.size()));
    for (const T& element : elements) fields(*this, element);
  }
  void must(bool, std::string_view) {}
  template <typename... Messages>
  void variant(const std::variant<Messages...>& message) {
    static_assert(((kind_of<Messages> != 0) && ...));
    std::visit(
        [&]<typename Message>(const Message& each) {
          integer(kind_of<Message>);
          fields(*this, each);
        },
        message);
  }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// After the first problem nothing more is read, and what was read means nothing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <std::integral T>
  void integer(T& value,
               std::type_identity_t<T> least = std::numeric_limits<T>::min(),
               std::type_identity_t<T> most = std::numeric_limits<T>::max()) {
    if (!has(sizeof(T))) return;
    std::make_unsigned_t<T> bits = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) {
      const auto byte = static_cast<std::uint8_t>(left_[i]);
      bits = static_cast<std::make_unsigned_t<T>>(std::uint64_t{bits} << 8 | byte);
    }
    left_.remove_prefix(sizeof(T));
    value = static_cast<T>(bits);
    if (value < least || value > most) {
      refuse(fmt::format("{} where {} to {} is allowed", value, least, most));
    }
  }
  template <typename Enum>
  void choice(Enum& value, Enum last) {
    std::uint8_t number = 0;
    integer(number, std::uint8_t{0}, static_cast<std::uint8_t>(last));
    if (problem_.empty()) value = static_cast<Enum>(number);
  }
  void string(std::string& text, std::size_t bytes_max) {
    std::uint32_t length = 0;
    integer(length);
    if (!problem_.empty()) return;
    if (length > bytes_max) {
      return refuse(fmt::format("a string of {} bytes, at most {} are allowed", length, bytes_max));
    }
    if (!has(length)) return;
    text = left_.substr(0, length);
    left_.remove_prefix(length);
    if (text != printable(text)) refuse("a string with a byte that is no printable character");
  }
  template <std::size_t Count>
  void bytes(std::array<std::uint8_t, Count>& taken) {
    if (!has(Count)) return;
    std::copy_n(left_.begin(), Count, taken.begin());
    left_.remove_prefix(Count);
  }
  void flag(bool& value) {
    std::uint8_t number = 0;
    integer(number, std::uint8_t{0}, std::uint8_t{1});
    value = number == 1;
  }
  template <typename T>
  void optional(std::optional<T>& part) {
    bool there = false;
    flag(there);
    if (problem_.empty() && there) fields(*this, part.emplace());
  }
  /// What is not there yet is not paid for: elements are made as their bytes come.
  template <typename T>
  void list(std::vector<T>& elements, std::size_t count_max) {
    std::uint32_t count = 0;
    integer(count);
    if (!problem_.empty()) return;
    if (count > count_max) {
      return refuse(fmt::format("a list of {}, at most {} are allowed", count, count_max));
    }
    elements.clear();
    while (problem_.empty() && elements.size() < count) fields(*this, elements.emplace_back());
  }
  /// Else it says what is there.
  void must(bool is_so, std::string_view what) {
    if (!is_so) refuse(std::string(what));
  }
  template <typename... Messages>
  void variant(std::variant<Messages...>& message) {
    std::uint8_t kind = 0;
    integer(kind);
    if (!problem_.empty()) return;
    const bool known = ((kind == kind_of<Messages> &&
                         (fields(*this, message.template emplace<Messages>()), true)) ||
                        ...);
    if (!known) refuse(fmt::format("there is no kind {:#04x} here", kind));
  }

  /// Why the bytes are no message; empty if they are one.
  [[nodiscard]] std::string problem() {
    if (!left_.empty()) refuse(fmt::format("{} bytes follow its end", left_.size()));
    return problem_;
  }

 private:
  [[nodiscard]] bool has(std::size_t count) {
    if (problem_.empty() && left_.size() < count) refuse("it ends too early");
    return problem_.empty();
  }
  void refuse(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
  }

  std::string_view left_;
  std::string problem_;
};

template <typename Message>
std::string encode_any(const Message& message) {
  Writer writer;
  writer.variant(message);
  return writer.take();
}

template <typename Message>
Result<Message> decode_any(std::string_view bytes) {
  Reader reader(bytes);
  Message message;
  reader.variant(message);
  if (std::string why = reader.problem(); !why.empty()) {
    return Error(
        ExitStatus::system_refused, "message refused", std::move(why), "the connection is closed");
  }
  return message;
}

constexpr std::uint8_t record_version = 1;

}  // namespace

std::string encode(const ToCoordinator& message) {
  return encode_any(message);
}
std::string encode(const ToAgent& message) {
  return encode_any(message);
}

std::string encode(const Knowledge& known) {
  Writer writer;
  writer.integer(record_version);
  fields(writer, known);
  return writer.take();
}

Result<ToCoordinator> decode_to_coordinator(std::string_view bytes) {
  return decode_any<ToCoordinator>(bytes);
}
Result<ToAgent> decode_to_agent(std::string_view bytes) {
  return decode_any<ToAgent>(bytes);
}

Result<Knowledge> decode_record(std::string_view bytes) {
  Reader reader(bytes);
  std::uint8_t version = 0;
  reader.integer(version, record_version, record_version);
  Knowledge known;
  fields(reader, known);
  if (std::string why = reader.problem(); !why.empty()) {
    return Error(ExitStatus::system_refused, "record refused", std::move(why), "");
  }
  return known;
}

}  // namespace ddprun
