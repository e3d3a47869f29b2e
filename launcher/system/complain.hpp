// Last words on stderr from places that must not fail: a full disk or a terminal that has hung up
// may take nothing more, and the exit status must be right all the same.
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
