#include "launcher/node/error_file.hpp"

#include "launcher/system/fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

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

}  // namespace

std::string exception_in(std::string_view text) {
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
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
