// What a job has trained in spite of faults, held against the same training without any: the same
// generations in the same order, each with as many workers and from the same snapshot as there,
// started by hand. Each snapshot that a generation began with, and the trained model, must be the
// same to the last bit: a given number of ranks adds its gradients up in a given order, whenever
// they arrive.
//
// The program is examples/toy. The script that starts it keeps links to the snapshots that are
// there, for later.
#pragma once

#include "tests/hosts/training.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace hosts {

/// The folder of the job's snapshots.
constexpr const char* snapshot_folder = "run";

/// The text of a script that trains as a worker, up to the epoch in the file "epochs".
[[nodiscard]] std::string training_script();

/// One generation, as far as it came to train.
struct Stretch {
  int generation = 0;
  int world_size = 0;
  std::int64_t step = 0;   ///< With which it began.
  std::int64_t epoch = 0;  ///< Likewise.
};

/// In their order. Throws if one began with an older snapshot than another before it, or with one
/// that the generation before it did not write.
[[nodiscard]] std::vector<Stretch> stretches_of(Training& job);

/// The epoch of the newest snapshot.
[[nodiscard]] std::int64_t newest_epoch(Training& job);

/// Trains them again, on the first host, and checks that each came to what the next one began with,
/// and the last one to the job's own model.
void expect_same_training(Training& job, std::int64_t total_epochs);

}  // namespace hosts
