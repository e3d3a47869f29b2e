#include "launcher/rank_map.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

Generation generation_of(const std::vector<int>& worker_counts) {
  Generation generation;
  int rank = 0;
  int node = 0;
  for (const int count : worker_counts) {
    Offer offer;
    offer.node = NodeId{10 * node++};  // names of nodes, not places in the list
    offer.worker_count = count;
    generation.members.push_back({offer, Rank{rank}});
    rank += count;
  }
  return generation;
}

TEST_CASE("rank map: a single node has all ranks, local and global alike") {
  const auto places = places_on(generation_of({2}), NodeId{0});
  REQUIRE(places.size() == 2);
  CHECK(places[0] == WorkerPlace{Rank{0}, LocalRank{0}, 2, 2, 0, 1});
  CHECK(places[1] == WorkerPlace{Rank{1}, LocalRank{1}, 2, 2, 0, 1});
}

TEST_CASE("rank map: nodes of different sizes have the ranks in their order") {
  const Generation generation = generation_of({3, 1, 2});
  CHECK(places_on(generation, NodeId{0}).size() == 3);
  CHECK(places_on(generation, NodeId{10}) ==
        std::vector{WorkerPlace{Rank{3}, LocalRank{0}, 6, 1, 1, 3}});
  CHECK(places_on(generation, NodeId{20}) ==
        std::vector{WorkerPlace{Rank{4}, LocalRank{0}, 6, 2, 2, 3},
                    WorkerPlace{Rank{5}, LocalRank{1}, 6, 2, 2, 3}});
}

TEST_CASE("rank map: a node that is no member has none") {
  CHECK(places_on(generation_of({2}), NodeId{1}).empty());
  CHECK(places_on(Generation{}, NodeId{0}).empty());
}

}  // namespace
}  // namespace ddprun
