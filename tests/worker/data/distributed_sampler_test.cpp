#include "ddprun/distributed_sampler.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <algorithm>

namespace ddprun::worker {
namespace {

using Indices = std::vector<std::int64_t>;

struct Vector {
  std::int64_t samples_count;
  int world_size;
  DistributedSamplerOptions options;
  std::int64_t epoch;
  std::vector<Indices> of_rank;
};

// Printed by torch.utils.data.DistributedSampler of PyTorch 1.13.1.
const std::vector<Vector> python_vectors = {
    {10, 3, {}, 0, {{4, 5, 0, 2}, {1, 3, 8, 4}, {7, 9, 6, 1}}},
    {10, 3, {.drop_last = true}, 0, {{4, 5, 0}, {1, 3, 8}, {7, 9, 6}}},
    {10, 3, {.shuffle = false}, 0, {{0, 3, 6, 9}, {1, 4, 7, 0}, {2, 5, 8, 1}}},
    {10, 3, {.shuffle = false, .drop_last = true}, 0, {{0, 3, 6}, {1, 4, 7}, {2, 5, 8}}},
    {3, 8, {}, 0, {{2}, {0}, {1}, {2}, {0}, {1}, {2}, {0}}},
    {3, 8, {.drop_last = true}, 0, {{}, {}, {}, {}, {}, {}, {}, {}}},
    {1, 4, {}, 5, {{0}, {0}, {0}, {0}}},
    {16, 4, {.seed = 42}, 7, {{10, 0, 5, 2}, {9, 7, 4, 14}, {6, 8, 3, 1}, {12, 13, 11, 15}}},
    {7, 2, {.seed = 3}, 1, {{3, 0, 2, 6}, {1, 4, 5, 3}}},
    {12, 1, {}, 2, {{0, 9, 3, 2, 10, 5, 6, 7, 8, 1, 4, 11}}},
};

TEST_CASE("sampler: every rank reads what Python's DistributedSampler reads") {
  for (const Vector& vector : python_vectors) {
    for (int rank = 0; rank < vector.world_size; ++rank) {
      const DistributedSampler sampler(
          vector.samples_count, rank, vector.world_size, vector.options);
      CAPTURE(vector.samples_count);
      CAPTURE(rank);
      CHECK(sampler.indices(vector.epoch) == vector.of_rank[static_cast<std::size_t>(rank)]);
      CHECK(sampler.size() == static_cast<std::int64_t>(sampler.indices(0).size()));
    }
  }
}

TEST_CASE("sampler: with the same ranks, an epoch goes on where it stopped") {
  for (const bool drop_last : {false, true}) {
    for (const std::int64_t samples_count : {1, 3, 10, 64, 65}) {
      for (const int world_size : {1, 2, 3, 8}) {
        for (int rank = 0; rank < world_size; ++rank) {
          const DistributedSampler sampler(
              samples_count, rank, world_size, {.drop_last = drop_last});
          const Indices whole = sampler.indices(1);
          for (std::size_t used = 0; used <= whole.size(); ++used) {
            const Indices rest(whole.begin() + static_cast<std::ptrdiff_t>(used), whole.end());
            REQUIRE(sampler.indices(1, static_cast<std::int64_t>(used) * world_size) == rest);
          }
        }
      }
    }
  }
}

TEST_CASE("sampler: with fewer ranks, an epoch still uses each sample once") {
  for (const std::int64_t samples_count : {24, 25, 26, 29}) {
    CAPTURE(samples_count);
    std::vector<int> uses(static_cast<std::size_t>(samples_count), 0);
    for (int rank = 0; rank < 4; ++rank) {  // four ranks read three samples each
      const Indices indices = DistributedSampler(samples_count, rank, 4).indices(0);
      for (std::size_t i = 0; i < 3; ++i) ++uses[static_cast<std::size_t>(indices[i])];
    }
    for (int rank = 0; rank < 3; ++rank) {  // one is gone, the others read the rest
      for (const std::int64_t index : DistributedSampler(samples_count, rank, 3).indices(0, 12)) {
        ++uses[static_cast<std::size_t>(index)];
      }
    }
    // As many as are missing for all three to read the same number are read a second time.
    const std::int64_t repeated_count = (3 - (samples_count - 12) % 3) % 3;
    CHECK(std::count(uses.begin(), uses.end(), 2) == repeated_count);
    CHECK(std::count(uses.begin(), uses.end(), 1) == samples_count - repeated_count);
  }
}

TEST_CASE("sampler: a rank outside the world is refused") {
  CHECK_THROWS_AS(DistributedSampler(10, 2, 2), Error);
  CHECK_THROWS_AS(DistributedSampler(10, -1, 2), Error);
  CHECK_THROWS_AS(DistributedSampler(-1, 0, 2), Error);
  CHECK(DistributedSampler(0, 0, 2).indices(0).empty());
}

}  // namespace
}  // namespace ddprun::worker
