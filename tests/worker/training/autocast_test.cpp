#include "ddprun/autocast.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

namespace ddprun::worker {
namespace {

bool product_has(torch::ScalarType type) {
  return torch::mm(torch::ones({2, 2}), torch::ones({2, 2})).scalar_type() == type;
}

TEST_CASE("autocast: operators compute in its type while it lives, also within another one") {
  CHECK(product_has(torch::kFloat));
  {
    const Autocast outer(torch::kCPU, torch::kBFloat16);
    CHECK(product_has(torch::kBFloat16));
    { const Autocast inner(torch::kCPU, std::nullopt); }
    CHECK(product_has(torch::kBFloat16));
    { const Autocast inner(torch::kCPU, torch::kBFloat16); }
    CHECK(product_has(torch::kBFloat16));
  }
  CHECK(product_has(torch::kFloat));
}

TEST_CASE("autocast: a type that is none of 16 bits is refused") {
  const auto make = [] { const Autocast autocast(torch::kCPU, torch::kDouble); };
  CHECK(test::contains(test::error_of(make), "operators cannot be cast to Double; use kHalf or"));
}

}  // namespace
}  // namespace ddprun::worker
