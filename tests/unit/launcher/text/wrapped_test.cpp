#include "launcher/text/wrapped.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("wrapped: lines break at spaces, and a longer word stays whole") {
  using WrappedLines = std::vector<std::string>;
  CHECK(wrapped("one two three", 7) == WrappedLines{"one two", "three"});
  CHECK(wrapped("one two three", 3) == WrappedLines{"one", "two", "three"});
  CHECK(wrapped("", 5) == WrappedLines{""});
}

}  // namespace
}  // namespace ddprun
