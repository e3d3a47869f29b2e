#include "rendezvous/generations/founding.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace ddprun {
namespace {

TEST_CASE("founding: so many nodes found a job that the others cannot lead it") {
  CHECK(nodes_to_found(1, 1, 0) == 1);
  CHECK(nodes_to_found(1, 2, 0) == 2);
  CHECK(nodes_to_found(2, 2, 0) == 2);
  CHECK(nodes_to_found(2, 4, 0) == 4);
  CHECK(nodes_to_found(3, 4, 0) == 3);
  CHECK(nodes_to_found(3, 5, 0) == 4);
  CHECK(nodes_to_found(4, 5, 0) == 4);
  CHECK(nodes_to_found(51, 100, 0) == 97);
  CHECK(nodes_to_found(3, 4, 1) == 4);
  CHECK(nodes_to_found(5, 6, 1) == 5);
}

TEST_CASE("founding: who does not come is less than half of the voters of any generation") {
  for (const int witnesses : {0, 1}) {
    for (int all = 1; all <= 40; ++all) {
      for (int least = 1; least <= all; ++least) {
        const int founders = nodes_to_found(least, all, witnesses);
        REQUIRE(founders >= least);
        REQUIRE(founders <= all);
        if (founders == all) continue;
        for (int voters = std::min(least + witnesses, 7); voters <= 7; ++voters) {
          REQUIRE(2 * (all - founders + witnesses) < voters);
        }
      }
    }
  }
}

TEST_CASE("founding: no fewer nodes would do") {
  for (int all = 2; all <= 40; ++all) {
    for (int least = 1; least < all; ++least) {
      const int founders = nodes_to_found(least, all, 0);
      if (founders == least) continue;
      CHECK(2 * (all - founders + 1) >= std::min(least, 7));  // the half with the head
    }
  }
}

TEST_CASE("founding: the job that was founded later stands") {
  const Founding first{Epoch{1}, 9};
  const Founding later{Epoch{2}, 3};
  CHECK(later > first);
  CHECK(Founding{Epoch{1}, 10} > first);
  CHECK(Founding{}.is_none());
  CHECK_FALSE(first.is_none());
}

}  // namespace
}  // namespace ddprun
