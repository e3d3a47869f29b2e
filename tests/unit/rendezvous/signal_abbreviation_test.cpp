#include "rendezvous/signal_abbreviation.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstring>
#include <string_view>

namespace ddprun {
namespace {

TEST_CASE("signal abbreviation: each number has the one that glibc gives it") {
  for (int signal = -1; signal <= SIGRTMAX + 1; ++signal) {
    CAPTURE(signal);
    const char* const glibc = sigabbrev_np(signal);
    CHECK(signal_abbreviation(signal) == std::string_view(glibc == nullptr ? "" : glibc));
  }
}

}  // namespace
}  // namespace ddprun
