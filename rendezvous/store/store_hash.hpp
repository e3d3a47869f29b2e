// The hash of keys in the store. It has a seed, so that no client can choose keys that all lie in
// one place of a table: SipHash-2-4 of J.-P. Aumasson and D. J. Bernstein (2012), by libsodium.
#pragma once

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ddprun {

struct StoreHash {
  using is_transparent = void;  // looks up a view without making a string
  using Seed = std::array<unsigned char, crypto_shorthash_KEYBYTES>;

  [[nodiscard]] std::size_t operator()(std::string_view key) const {
    std::array<unsigned char, crypto_shorthash_BYTES> hash;
    crypto_shorthash(
        hash.data(), reinterpret_cast<const unsigned char*>(key.data()), key.size(), seed.data());
    std::uint64_t number = 0;
    static_assert(sizeof number == hash.size());
    std::memcpy(&number, hash.data(), sizeof number);
    return number;
  }

  Seed seed{};
};

/// The hash of a list of keys. Each step hashes the one before with the key's own: a sum of powers
/// would be the same for many lists of two keys, whatever the seed, where these follow Thue and
/// Morse.
[[nodiscard]] inline std::size_t hash_of_list(const std::vector<std::string>& keys,
                                              const StoreHash& hash) {
  std::size_t so_far = 0;
  for (const std::string& key : keys) {
    const std::array<std::size_t, 2> both{so_far, hash(key)};
    so_far = hash({reinterpret_cast<const char*>(both.data()), sizeof both});
  }
  return so_far;
}

template <typename Value>
using StoreMap = std::unordered_map<std::string, Value, StoreHash, std::equal_to<>>;

}  // namespace ddprun
