// The assertion that stays on in release builds, for this project's own bugs only. Invalid input
// from outside (a user, a socket, a file) gives an Error, never an assertion.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace ddprun::detail {

[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  (void)std::fprintf(
      stderr, "ddprun: bug: %s does not hold at %s:%d; please report it\n", condition, file, line);
  (void)std::fflush(stderr);
  std::_Exit(70);  // ExitStatus::internal_error
}

}  // namespace ddprun::detail

#define DDPRUN_ASSERT(condition) \
  ((condition) ? void() : ::ddprun::detail::assertion_failed(#condition, __FILE__, __LINE__))
