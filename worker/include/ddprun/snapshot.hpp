// Everything that training needs to go on after a restart, as one value. In a file it is the dict
// that the PyTorch tutorial on fault tolerance saves, with more entries:
//   MODEL_STATE EPOCHS_RUN                                           the tutorial's
//   OPTIMIZER_STATE SCALER_STATE EPOCH BATCH SAMPLES STEP GENERATION WORLD_SIZE GRADIENT_ORDER
//   SHARDS BEST_SCORE OPTIMIZER_CHANGES EARLY_STOP_BEST... EARLY_STOP_EPOCHS...     ours
// and whatever else the program adds.
#pragma once

#include "ddprun/module_state.hpp"
#include "ddprun/position.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddprun::worker {

/// The largest count a snapshot may have: far above any real one, far below where adding one could
/// overflow.
inline constexpr std::int64_t count_max = std::int64_t{1} << 53;

using SnapshotFields = std::map<std::string, c10::IValue>;

struct Snapshot {
  StateDict model_state;
  c10::IValue optimizer_state;  ///< As Python's optimizer.state_dict(); None when not saved.
  c10::IValue scaler_state;     ///< As Python's GradScaler.state_dict(); None when not saved.
  /// Where the parameters and the optimizer's state are, if other files have them: while a sharded
  /// snapshot is written or loaded. None otherwise.
  c10::IValue shards;

  Position position;  ///< To go on from. EPOCHS_RUN and EPOCH are both its epoch.
  /// Of DistributedDataParallelOptions::gradient_order; empty when there was none.
  std::vector<std::int64_t> gradient_order;

  std::int64_t generation = 0;  ///< Which start of the job wrote it; see SnapshotStore.
  std::int64_t world_size = 0;  ///< Of the job that wrote it; 0 when the file does not say.
  bool is_foreign = false;      ///< Another program wrote it: the file has no GENERATION.

  /// Entries of the program's own, beside those above in the file. Values must be what
  /// write_pt_file() accepts.
  SnapshotFields user_fields;
  /// What a Session and an EarlyStop keep for the next start, beside all that.
  SnapshotFields own_fields;
};

/// Throws Error naming a user field that has the name of one of the runtime's entries.
void require_free_names(const SnapshotFields& user_fields);

/// The snapshot as the dict that goes into a file. Tensors of other devices are copied to the CPU,
/// all others are shared. Throws Error as require_free_names().
[[nodiscard]] c10::IValue to_value(const Snapshot& snapshot);

/// The snapshot that `value` holds. All entries but MODEL_STATE may be missing. From a foreign one,
/// the prefix "module." that Python's DistributedDataParallel puts before names is taken off.
/// Throws Error naming the entry that is missing or of the wrong kind.
[[nodiscard]] Snapshot from_value(const c10::IValue& value);

}  // namespace ddprun::worker
