// Where training is. All that a step depends on, apart from the model and its optimizer, is a
// function of this, so that a restart needs nothing else.
#pragma once

#include <cstdint>

namespace ddprun::worker {

/// Of the next step. The values are the same on every rank.
struct Position {
  std::int64_t epoch = 0;    ///< Epochs that are finished.
  std::int64_t batch = 0;    ///< Batches of this epoch that each rank has finished.
  std::int64_t samples = 0;  ///< Samples of this epoch that all ranks together have used.
  std::int64_t step = 0;     ///< Steps since training began.

  friend bool operator==(const Position&, const Position&) = default;
};

}  // namespace ddprun::worker
