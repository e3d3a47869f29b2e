// A number with its noun, as text.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ddprun {

/// "1 GPU", "2 GPUs".
template <class Number>
[[nodiscard]] std::string text_of_count(Number count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace ddprun
