#include "rendezvous/membership/doors.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace ddprun {
namespace {

using Places = std::vector<std::string>;

Places next_of(Doors& doors,
               int count,
               const std::optional<Leader>& followed,
               const Voters& voters = {}) {
  Places places;
  for (int i = 0; i < count; ++i) places.push_back(doors.next(followed, voters));
  return places;
}

const Leader followed_leader{.agent = 7, .address = "lead:1"};

TEST_CASE("doors: the leader's place twice, then in turn with a voter's, the endpoint, a host's") {
  Doors doors("end:1", {"a:1", "b:1"});
  Voters voters;
  voters.all = {{105, NodeId{5}, "v", "v:1"}, {106, NodeId{6}, "w", "w:1"}};
  CHECK(next_of(doors, 9, followed_leader, voters) ==
        Places{"lead:1", "lead:1", "lead:1", "v:1", "lead:1", "end:1", "lead:1", "a:1", "lead:1"});
  CHECK(next_of(doors, 5, followed_leader, voters) ==
        Places{"w:1", "lead:1", "end:1", "lead:1", "b:1"});
  doors.begin_anew();
  CHECK(next_of(doors, 4, followed_leader, voters) == Places{"lead:1", "lead:1", "lead:1", "v:1"});
}

TEST_CASE(
    "doors: without a leader the others' alone, the endpoint first where there are no voters") {
  Doors doors("end:1", {"a:1"});
  CHECK(next_of(doors, 4, std::nullopt) == Places{"end:1", "a:1", "end:1", "a:1"});
  CHECK(doors.is_endpoint("end:1"));
  CHECK_FALSE(doors.is_endpoint("a:1"));
}

TEST_CASE("doors: what stands at several places has one turn, and this process none") {
  Doors doors("lead:1", {"v:1", "own:1", "w:1"}, "own:1");
  Voters voters;
  for (const char* const at : {"lead:1", "v:1", "own:1", "w:1", "x:1"}) {
    voters.all.push_back({100 + voters.all.size(), NodeId{0}, "", at});
  }
  CHECK(next_of(doors, 8, followed_leader, voters) ==
        Places{"lead:1", "lead:1", "lead:1", "v:1", "lead:1", "w:1", "lead:1", "x:1"});
  CHECK(next_of(doors, 4, followed_leader) == Places{"lead:1", "v:1", "lead:1", "w:1"});
  Doors alone("own:1", {}, "own:1");
  CHECK(next_of(alone, 2, std::nullopt) == Places{"own:1", "own:1"});
}

}  // namespace
}  // namespace ddprun
