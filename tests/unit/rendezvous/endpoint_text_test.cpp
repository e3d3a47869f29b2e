#include "rendezvous/endpoint_text.hpp"

#include <doctest/doctest.h>

namespace ddprun {

TEST_CASE("endpoint text: an IPv6 address has brackets, a name and an IPv4 address have none") {
  CHECK(endpoint_text("n0", 29'400) == "n0:29400");
  CHECK(endpoint_text("10.0.0.1", 1) == "10.0.0.1:1");
  CHECK(endpoint_text("fd00::1", 65'535) == "[fd00::1]:65535");
}

}  // namespace ddprun
