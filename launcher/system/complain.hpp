// Messages on stderr from code that must not fail: if a full disk or a closed terminal
// takes no more bytes, the exit status must still be right.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace ddprun {

/// Prints one message, or nothing if stderr takes nothing.
template <typename... Values>
void complain(fmt::format_string<Values...> text, Values&&... values) {
  (void)std::fputs(fmt::format(text, std::forward<Values>(values)...).c_str(), stderr);
}

}  // namespace ddprun
