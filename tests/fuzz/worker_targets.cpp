#include "tests/fuzz/worker_targets.hpp"

#include "tests/fuzz/target.hpp"

#include <array>

namespace ddprun::fuzz {

std::span<const Target> targets() {
  static constexpr std::array all{Target{"idx", fuzz_idx},
                                  Target{"optimizer_state", fuzz_optimizer_state},
                                  Target{"pickle", fuzz_pickle},
                                  Target{"snapshot", fuzz_snapshot},
                                  Target{"zip", fuzz_zip}};
  return all;
}

}  // namespace ddprun::fuzz
