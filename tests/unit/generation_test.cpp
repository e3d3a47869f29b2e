#include "rendezvous/generation.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

Generation generation_of(const std::vector<int>& worker_counts) {
  Generation generation;
  generation.number = GenerationNumber{3};
  generation.restart_count = 2;
  generation.cause = "why";
  int rank = 0;
  int node = 0;
  for (const int count : worker_counts) {
    Offer offer;
    offer.node = NodeId{10 * node++};  // names of nodes, not places in the list
    offer.address = "10.0.0." + std::to_string(node);
    offer.store_port = static_cast<std::uint16_t>(4000 + node);
    offer.worker_count = count;
    generation.members.push_back({offer, Rank{rank}});
    rank += count;
  }
  return generation;
}

TEST_CASE("generation: each member's part says what is its own and what is everybody's") {
  const std::vector<Part> parts = generation_of({3, 1, 2}).parts();
  REQUIRE(parts.size() == 3);
  Part expected;
  expected.number = GenerationNumber{3};
  expected.group_world_size = 3;
  expected.worker_count = 3;
  expected.world_size = 6;
  expected.master_address = "10.0.0.1";
  expected.master_port = 4001;
  expected.restart_count = 2;
  expected.cause = "why";
  CHECK(parts[0] == expected);
  expected.group_rank = 1;
  expected.first_rank = Rank{3};
  expected.worker_count = 1;
  CHECK(parts[1] == expected);
  expected.group_rank = 2;
  expected.first_rank = Rank{4};
  expected.worker_count = 2;
  CHECK(parts[2] == expected);
}

TEST_CASE("generation: a node that is no member is not found") {
  const Generation generation = generation_of({2, 1});
  CHECK(generation.member_on(NodeId{10})->first_rank == Rank{2});
  CHECK(generation.member_on(NodeId{1}) == nullptr);
}

}  // namespace
}  // namespace ddprun
