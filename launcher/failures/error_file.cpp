#include "launcher/failures/error_file.hpp"

#include "rendezvous/fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>

namespace ddprun {
namespace {

/// Without a character that is cut in two.
std::string shortened(const std::string& text) {
  std::size_t size = std::min(text.size(), exception_bytes_max);
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
  };
  while (size < text.size() && size > 0 && continues(size)) --size;
  return text.substr(0, size);
}

/// The number of four hexadecimal digits, as in an escape; -1 if they are none.
int unit_of(std::string_view digits) {
  int value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [read, error] = std::from_chars(digits.data(), end, value, 16);
  return error == std::errc() && digits.size() == 4 && read == end ? value : -1;
}

bool is_escape(std::string_view text, int low, int high) {
  const int unit = text.starts_with("\\u") ? unit_of(text.substr(2, 4)) : -1;
  return low <= unit && unit <= high;
}

/// A JSON text in which escapes that are half a character stand for U+FFFD. Python writes them for
/// bytes of file names that are no text.
std::string with_whole_escapes(std::string_view text) {
  constexpr std::size_t escape_bytes = 6;
  std::string whole;
  while (!text.empty()) {
    const bool is_first = is_escape(text, 0xd800, 0xdbff);
    const bool is_pair = is_first && is_escape(text.substr(escape_bytes), 0xdc00, 0xdfff);
    const bool is_half = !is_pair && is_escape(text, 0xd800, 0xdfff);
    std::size_t size = text.front() == '\\' ? 2 : 1;
    if (is_half) size = escape_bytes;
    if (is_pair) size = 2 * escape_bytes;
    whole += is_half ? "\\ufffd" : text.substr(0, size);
    text.remove_prefix(std::min(size, text.size()));
  }
  return whole;
}

/// Bytes that are no UTF-8 become U+FFFD.
std::string as_utf8(std::string_view bytes) {
  const std::string quoted =
      nlohmann::json(bytes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(quoted).get<std::string>();
}

}  // namespace

std::string exception_in(std::string_view text) {
  const std::string readable = with_whole_escapes(as_utf8(text));
  const auto document = nlohmann::json::parse(readable, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("message")) return {};
  const auto& message = document["message"];
  if (message.is_string()) return shortened(message.get<std::string>());
  if (!message.is_object() || !message.contains("message")) return {};
  const auto& inner = message["message"];
  return inner.is_string() ? shortened(inner.get<std::string>()) : std::string();
}

std::string read_error_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (static_cast<std::size_t>(status.st_size) > error_file_bytes_max) return {};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

}  // namespace ddprun
