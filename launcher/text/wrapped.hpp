// Breaks a text into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// Breaks `text` at spaces into lines of at most `width` columns; a longer word stays whole.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace ddprun
