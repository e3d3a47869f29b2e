#include "rendezvous/wire/credentials.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace ddprun {
namespace {

const std::string token_digits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";

Token token(std::string text) {
  return {std::move(text), "DDPRUN_TOKEN"};
}

Credentials with_token(const std::string& job_id, const std::string& text) {
  return make_credentials(job_id, token(text)).value();
}

Credentials without_token(const std::string& job_id) {
  return make_credentials(job_id, std::nullopt).value();
}

TEST_CASE("credentials: the same job and token give the same key, anything else another") {
  std::string other = token_digits;
  other.back() = 'e';
  CHECK(with_token("a", token_digits) == with_token("a", token_digits));
  CHECK(with_token("a", token_digits).key != with_token("a", other).key);
  CHECK(with_token("a", token_digits).key != with_token("b", token_digits).key);
  CHECK(with_token("a", token_digits).key != without_token("a").key);
  CHECK(without_token("a") == without_token("a"));
  CHECK(without_token("a").key != without_token("b").key);
  CHECK(without_token("a").key != without_token("").key);
}

TEST_CASE("credentials: they say whether a token made the key, and never are the token") {
  CHECK(with_token("a", token_digits).authenticated);
  CHECK_FALSE(without_token("a").authenticated);
  const Credentials zeros = with_token("a", std::string(64, '0'));
  CHECK(zeros.key != Key{});
  CHECK(zeros.key != without_token("a").key);
}

TEST_CASE("credentials: capital digits are the same digits") {
  std::string capitals = token_digits;
  std::ranges::replace(capitals, 'f', 'F');
  CHECK(with_token("a", capitals) == with_token("a", token_digits));
}

TEST_CASE("credentials: what is not 64 hexadecimal digits is refused without being shown") {
  const std::string fix = "; make one by: openssl rand -hex 32";
  const auto error_for = [](const std::string& text) {
    return make_credentials("a", token(text)).error().message();
  };
  CHECK(error_for("") ==
        "the job token in DDPRUN_TOKEN: it must be 64 hexadecimal digits, and its length is 0" +
            fix);
  CHECK(error_for(token_digits.substr(1)) ==
        "the job token in DDPRUN_TOKEN: it must be 64 hexadecimal digits, and its length is 63" +
            fix);
  for (const std::size_t at : {std::size_t{0}, std::size_t{31}, token_digits.size() - 1}) {
    for (const char wrong : {'g', ' ', '\0', '\n', ':', '\xe9'}) {
      std::string text = token_digits;
      text[at] = wrong;
      CHECK(error_for(text) ==
            "the job token in DDPRUN_TOKEN: not all of its characters are hexadecimal digits" +
                fix);
    }
  }
  CHECK(make_credentials("a", token("x")).error().status() == ExitStatus::usage);
}

}  // namespace
}  // namespace ddprun
