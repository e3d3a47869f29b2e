#include "rendezvous/generations/generation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

TEST_CASE("generation: a host's name repeats if it is at two addresses, not if two are on one") {
  Generation generation = generation_of({1, 1, 1});
  CHECK(generation.repeated_host().empty());
  for (Member& member : generation.members) member.offer.host = "n0";
  CHECK(generation.repeated_host() == "n0");
  for (Member& member : generation.members) member.offer.address = "10.0.0.1";
  CHECK(generation.repeated_host().empty());
  generation.members[2].offer.address = "10.0.0.2";
  CHECK(generation.repeated_host() == "n0");
  generation.members[2].offer.host = "n1";
  CHECK(generation.repeated_host().empty());
}

TEST_CASE("generation: members are found by node and by rank") {
  const Generation generation = generation_of({3, 1, 2});  // on nodes 0, 10 and 20
  CHECK(generation.world_size() == 6);
  CHECK(Generation().world_size() == 0);
  for (const int node : {0, 10, 20}) {
    CHECK(generation.member_on(NodeId{node})->offer.node == NodeId{node});
  }
  for (const int node : {-1, 1, 15, 21}) CHECK(generation.member_on(NodeId{node}) == nullptr);
  const std::vector<int> nodes{0, 0, 0, 10, 20, 20};
  for (int rank = 0; rank < 6; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    CHECK(generation.member_with(Rank{rank})->offer.node == NodeId{nodes[place]});
  }
  CHECK(generation.member_with(Rank{-1}) == nullptr);
  CHECK(generation.member_with(Rank{6}) == nullptr);
  CHECK(Generation().member_with(Rank{0}) == nullptr);
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
  expected.store_peers.resize(3);
  CHECK(parts[0] == expected);
  expected.store_peers.clear();
  expected.group_rank = 1;
  expected.first_rank = Rank{3};
  expected.worker_count = 1;
  CHECK(parts[1] == expected);
  expected.group_rank = 2;
  expected.first_rank = Rank{4};
  expected.worker_count = 2;
  CHECK(parts[2] == expected);
}

IpAddress numbered(std::uint32_t number) {
  IpAddress address;
  for (std::size_t i = 0; i < 4; ++i) {
    address.bytes[i] = static_cast<std::uint8_t>(number >> (8 * i) & 0xff);
  }
  return address;
}

TEST_CASE("generation: the member with the store is told of all where their agents listen") {
  Generation generation = generation_of({1, 1, 1});
  generation.members[0].offer.addresses = {numbered(1), numbered(9)};
  generation.members[0].offer.contact = "n0:29400";
  generation.members[1].offer.addresses = {numbered(2), numbered(9)};
  generation.members[1].offer.contact = "[fd00::1]:7";
  const std::vector<Part> parts = generation.parts();
  CHECK(parts[0].store_peers == std::vector<StorePeer>{{29'400, {numbered(1), numbered(9)}},
                                                       {7, {numbered(2), numbered(9)}},
                                                       {0, {}}});
  CHECK(parts[1].store_peers.empty());
  CHECK(parts[2].store_peers.empty());
}

TEST_CASE("generation: a contact without a port has none") {
  CHECK(port_of("n1:29400") == 29'400);
  CHECK(port_of("[fd00::1]:1") == 1);
  for (const char* text : {"", "n1", "n1:", "n1:65536", "n1:-1", "n1:1x", ":"}) {
    INFO(text);
    CHECK(port_of(text) == 0);
  }
}

TEST_CASE("generation: of too many addresses, those are kept that each member named first") {
  Generation generation;
  constexpr std::uint32_t nodes = 20'000;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    Member member;
    for (std::uint32_t place = 0; place < 4; ++place) {
      member.offer.addresses.push_back(numbered(place * nodes + node));
    }
    generation.members.push_back(member);
  }
  const std::vector<StorePeer> peers = generation.store_peers();
  REQUIRE(peers.size() == nodes);
  CHECK(Part::peer_addresses_max == 50'000);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const std::size_t kept = node < 10'000 ? 3 : 2;
    REQUIRE(peers[node].addresses.size() == kept);
    REQUIRE(peers[node].addresses[1] == numbered(nodes + node));
  }
}

TEST_CASE("generation: a node that is no member is not found") {
  const Generation generation = generation_of({2, 1});
  CHECK(generation.member_on(NodeId{10})->first_rank == Rank{2});
  CHECK(generation.member_on(NodeId{1}) == nullptr);
}

TEST_CASE("generation: its head is one of its voters, or somebody who is named no more") {
  Generation generation = generation_of({1});
  CHECK(generation.head_host().empty());
  generation.voters.all = {{4, NodeId{0}, "n0", "10.0.0.1"}, {5, NodeId{1}, "n1", "10.0.0.2"}};
  generation.voters.head = 5;
  CHECK(generation.head_host() == "n1");
}

}  // namespace
}  // namespace ddprun
