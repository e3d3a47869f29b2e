#include "rendezvous/wire/credentials.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <string_view>
#include <utility>

namespace ddprun {
namespace {

constexpr std::size_t digits_count = 2 * std::tuple_size_v<Key>;

Error refused(const Token& token, std::string why) {
  return {ExitStatus::usage,
          "the job token in " + token.origin,
          std::move(why),
          "make one by: openssl rand -hex 32"};
}

Result<Key> key_in(const Token& token) {
  if (token.digits.size() != digits_count) {
    return refused(token,
                   fmt::format("it must be {} hexadecimal digits, and its length is {}",
                               digits_count,
                               token.digits.size()));
  }
  Key key{};
  std::size_t length = 0;
  const int read = sodium_hex2bin(
      key.data(), key.size(), token.digits.data(), token.digits.size(), nullptr, &length, nullptr);
  if (read != 0 || length != key.size()) {
    return refused(token, "not all of its characters are hexadecimal digits");
  }
  return key;
}

}  // namespace

Result<Credentials> make_credentials(std::string job_id, const std::optional<Token>& token) {
  if (sodium_init() < 0) {
    return Error(ExitStatus::system_refused, "libsodium cannot start", "no random numbers", "");
  }
  constexpr std::string_view purpose = "ddprun job key\n";
  const std::string input = std::string(purpose) + job_id;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(input.data());
  Credentials credentials{std::move(job_id), {}, token.has_value()};
  Key secret{};  // without a token: no key at all
  if (token) {
    const Result<Key> read = key_in(*token);
    if (!read) return read.error();
    secret = *read;
  }
  crypto_generichash(credentials.key.data(),
                     credentials.key.size(),
                     bytes,
                     input.size(),
                     token ? secret.data() : nullptr,
                     token ? secret.size() : 0);
  sodium_memzero(secret.data(), secret.size());
  return credentials;
}

}  // namespace ddprun
