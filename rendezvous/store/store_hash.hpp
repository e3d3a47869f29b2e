// The hash of keys in the store. It has a seed, so that no client can choose keys that all lie in
// one place of a table: SipHash-2-4 of J.-P. Aumasson and D. J. Bernstein (2012), by libsodium.
#pragma once

#include "rendezvous/store/store_texts.hpp"

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

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

/// The hash of a list: of all its bytes, and of where its keys start.
[[nodiscard]] inline std::size_t hash_of_list(const StoreTexts& keys, const StoreHash& hash) {
  return hash(keys.all_bytes()) + 3 * hash(keys.all_starts());
}

template <typename Value>
using StoreMap = std::unordered_map<std::string, Value, StoreHash, std::equal_to<>>;

}  // namespace ddprun
