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

/// The hash of a list of keys: the polynomial of their hashes at a point that the seed chooses, in
/// the field of the prime 2^61 - 1. Two lists of n keys have the same with a chance of n / 2^61 (J.
/// L. Carter and M. N. Wegman, 1979). Without the field it would be the same for many lists of two
/// keys, whatever the seed, where these follow Thue and Morse.
[[nodiscard]] inline std::size_t hash_of_list(const std::vector<std::string>& keys,
                                              const StoreHash& hash) {
  __extension__ using Product = unsigned __int128;
  constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
  const std::uint64_t point = hash({}) % prime;
  std::uint64_t so_far = 1;
  for (const std::string& key : keys) {
    so_far = static_cast<std::uint64_t>((Product{so_far} * point + hash(key)) % prime);
  }
  return so_far;
}

template <typename Value>
using StoreMap = std::unordered_map<std::string, Value, StoreHash, std::equal_to<>>;

}  // namespace ddprun
