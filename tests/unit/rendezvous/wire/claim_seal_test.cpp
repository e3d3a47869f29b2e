#include "rendezvous/wire/claim_seal.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace ddprun {
namespace {

TEST_CASE("claim seal: who has the key reads the record as it was written") {
  for (const std::string& record :
       {std::string(), std::string("a\0b", 3), std::string(70'000, 'x')}) {
    const std::string sealed = sealed_claim(record, Key{1});
    CHECK(sealed.size() == record.size() + 32);
    CHECK(record_in_claim(sealed, Key{1}) == record);
    CHECK_FALSE(record_in_claim(sealed, Key{2}));
  }
}

TEST_CASE("claim seal: a claim that has changed in one bit, or is cut, is no claim") {
  const std::string sealed = sealed_claim("a record", Key{1});
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(record_in_claim(changed, Key{1}));
    CHECK_FALSE(record_in_claim(std::string_view(sealed).substr(0, i), Key{1}));
  }
  CHECK_FALSE(record_in_claim(sealed + "x", Key{1}));
}

/// By Python: hashlib.blake2b(b"claim\na record", digest_size=32, key=bytes([1] + [0] * 31)).
TEST_CASE("claim seal: it is the hash that the protocol's page names") {
  std::string hex;
  for (const char byte : sealed_claim("a record", Key{1}).substr(8)) {
    constexpr auto digits = "0123456789abcdef";
    hex += digits[static_cast<unsigned char>(byte) >> 4];
    hex += digits[static_cast<unsigned char>(byte) & 15];
  }
  CHECK(hex == "dd238d848090fe4958d325a69d73f21526e1dbb1a8b7999ce9f19a0247856fde");
}

}  // namespace
}  // namespace ddprun
