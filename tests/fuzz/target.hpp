// What a fuzzer feeds: each target takes any bytes, and ends the process if they break a rule.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace ddprun::fuzz {

struct Target {
  std::string_view name;  ///< Also of its folder in corpus/.
  void (*feed)(std::string_view bytes);
};

/// Those of this program.
[[nodiscard]] std::span<const Target> targets();

/// Aborts with `rule` unless it holds. A fuzzer then keeps the bytes.
inline void require(bool holds, const char* rule) {
  if (holds) return;
  static_cast<void>(std::fprintf(stderr, "broken: %s\n", rule));
  std::abort();
}

}  // namespace ddprun::fuzz
