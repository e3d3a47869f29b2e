#include "launcher/workers/placement.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

WorkerSetup on_n0() {
  WorkerSetup setup;
  setup.host = "n0";
  return setup;
}

TEST_CASE("placement: nothing is told of workers that share all and see no GPU") {
  CHECK(placement_text(on_n0(), 4).empty());
}

TEST_CASE("placement: neighbours with the same cores are told together") {
  WorkerSetup setup = on_n0();
  setup.gpu_count = 4;
  setup.cores = {{0, 1}, {0, 1}, {2, 3}, {2, 3}};
  CHECK(placement_text(setup, 4) ==
        "n0: workers 0-1 have GPUs 0-1 and cores 0-1; workers 2-3 have GPUs 2-3 and cores 2-3");
}

TEST_CASE("placement: GPUs alone, and cores alone") {
  WorkerSetup setup = on_n0();
  setup.gpu_count = 2;
  CHECK(placement_text(setup, 2) == "n0: workers 0-1 have GPUs 0-1");
  CHECK(placement_text(setup, 1) == "n0: worker 0 has GPU 0");
  setup.gpu_count = 0;
  setup.cores = {{0}, {1, 2}};
  CHECK(placement_text(setup, 2) == "n0: worker 0 has core 0; worker 1 has cores 1-2");
}

TEST_CASE("placement: workers are called by LOCAL_RANK") {
  WorkerSetup setup = on_n0();
  setup.gpu_count = 4;
  setup.workers_before = 2;
  CHECK(placement_text(setup, 1) == "n0: worker 2 has GPU 2");
}

}  // namespace
}  // namespace ddprun
