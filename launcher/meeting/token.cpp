#include "launcher/meeting/token.hpp"

#include "rendezvous/fd.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace ddprun {
namespace {

Error refused(const std::string& path, std::string why, std::string fix) {
  return {ExitStatus::usage,
          fmt::format("the token file {} of DDPRUN_TOKEN_FILE", path),
          std::move(why),
          std::move(fix)};
}

Error failed(const std::string& path, int reason) {
  return refused(path, std::strerror(reason), "name a file that this user can read");
}

Result<void> check_owner(const std::string& path, const Fd& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed(path, errno);
  if (!S_ISREG(status.st_mode))
    return refused(path, "it is no regular file", "name a regular file");
  if (status.st_uid != ::geteuid()) {
    return refused(path,
                   fmt::format("it belongs to user {} and not to {}", status.st_uid, ::geteuid()),
                   "use one of your own");
  }
  if ((status.st_mode & 077) != 0) {
    return refused(path,
                   fmt::format("others have rights to it (mode {:04o})", status.st_mode & 07777),
                   fmt::format("remove it on all nodes, and make a new token on one: "
                               "(umask 077; openssl rand -hex 32 > '{}')",
                               path));
  }
  return {};
}

Result<std::string> text_of(const std::string& path) {
  // Not blocking: opening a FIFO would wait for a writer.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return failed(path, errno);
  if (auto checked = check_owner(path, file); !checked) return checked.error();
  std::array<char, token_file_bytes_max + 1> buffer{};
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t count = ::read(file.get(), buffer.data() + size, buffer.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path, errno);
    if (count == 0) return std::string(buffer.data(), size);
    size += static_cast<std::size_t>(count);
  }
  return refused(path,
                 fmt::format("it has more than {} bytes", token_file_bytes_max),
                 "name a file that holds the token alone");
}

std::string without_white_end(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

}  // namespace

Result<std::optional<Token>> token_in(const Environment& environment) {
  if (const auto token = find_variable(environment, "DDPRUN_TOKEN")) {
    return std::optional<Token>(Token{*token, "DDPRUN_TOKEN"});
  }
  const auto path = find_variable(environment, "DDPRUN_TOKEN_FILE");
  if (!path) return std::optional<Token>();
  if (path->empty()) {
    return Error(
        ExitStatus::usage, "DDPRUN_TOKEN_FILE is empty", "", "name the token's file, or unset it");
  }
  Result<std::string> text = text_of(*path);
  if (!text) return text.error();
  return std::optional<Token>(Token{without_white_end(std::move(*text)), *path});
}

void forget_token_variable() {
  constexpr std::string_view name = "DDPRUN_TOKEN=";
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::size_t bytes = std::strlen(*entry);
    if (std::string_view(*entry).starts_with(name)) {
      sodium_memzero(*entry + name.size(), bytes - name.size());
    }
  }
}

bool has_token(const Environment& environment) {
  return environment.contains("DDPRUN_TOKEN") || environment.contains("DDPRUN_TOKEN_FILE");
}

}  // namespace ddprun
