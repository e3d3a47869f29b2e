// What the load generator asks of a store: requests of PyTorch 2.2 and later, by the codes that
// ddprun-store(7) lists.
#pragma once

#include "rendezvous/store/store_codec.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::bench {

/// Answered by nothing.
inline void append_set(std::string_view key, std::string_view value, std::string& out) {
  encode_byte(1, out);
  encode_string(key, out);
  encode_string(value, out);
}

/// Answered by the value, with its length before it.
inline void append_get(std::string_view key, std::string& out) {
  encode_byte(3, out);
  encode_string(key, out);
}

/// Answered by the sum, in 8 bytes.
inline void append_add(std::string_view key, std::int64_t number, std::string& out) {
  encode_byte(4, out);
  encode_string(key, out);
  encode_i64(number, out);
}

/// Answered by a zero, once all are there.
inline void append_wait(const std::vector<std::string>& keys, std::string& out) {
  encode_byte(6, out);
  encode_i64(static_cast<std::int64_t>(keys.size()), out);
  for (const std::string& key : keys) encode_string(key, out);
}

}  // namespace ddprun::bench
