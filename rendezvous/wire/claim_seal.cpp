#include "rendezvous/wire/claim_seal.hpp"

#include <sodium.h>

#include <cstddef>

namespace ddprun {
namespace {

constexpr std::size_t claim_seal_bytes = 32;

std::string seal_of(std::string_view record, const Key& key) {
  const std::string input = "claim\n" + std::string(record);
  std::string seal(claim_seal_bytes, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(seal.data()),
                     seal.size(),
                     reinterpret_cast<const unsigned char*>(input.data()),
                     input.size(),
                     key.data(),
                     key.size());
  return seal;
}

}  // namespace

std::string sealed_claim(std::string_view record, const Key& key) {
  return std::string(record) + seal_of(record, key);
}

std::optional<std::string_view> record_in_claim(std::string_view sealed, const Key& key) {
  if (sealed.size() < claim_seal_bytes) return std::nullopt;
  const std::string_view record = sealed.substr(0, sealed.size() - claim_seal_bytes);
  const std::string right = seal_of(record, key);
  const bool is_right =
      sodium_memcmp(right.data(), sealed.data() + record.size(), claim_seal_bytes) == 0;
  return is_right ? std::optional(record) : std::nullopt;
}

}  // namespace ddprun
