#include "launcher/workers/rank_map.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("rank map: a single node has all ranks, local and global alike") {
  Part part;
  part.group_world_size = 1;
  part.worker_count = 2;
  part.world_size = 2;
  CHECK(places_in(part) == std::vector{WorkerPlace{Rank{0}, LocalRank{0}, 2, 2, 0, 1},
                                       WorkerPlace{Rank{1}, LocalRank{1}, 2, 2, 0, 1}});
}

TEST_CASE("rank map: a node among others begins where the one before it ends") {
  Part part;
  part.group_rank = 2;
  part.group_world_size = 3;
  part.first_rank = Rank{4};
  part.worker_count = 2;
  part.world_size = 6;
  CHECK(places_in(part) == std::vector{WorkerPlace{Rank{4}, LocalRank{0}, 6, 2, 2, 3},
                                       WorkerPlace{Rank{5}, LocalRank{1}, 6, 2, 2, 3}});
}

TEST_CASE("rank map: without workers there are no places") {
  CHECK(places_in(Part{}).empty());
}

}  // namespace
}  // namespace ddprun
