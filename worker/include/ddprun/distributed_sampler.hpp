// Which samples a rank reads in an epoch: the same ones in the same order as Python's
// torch.utils.data.DistributedSampler, plus a position inside the epoch to go on from.
#pragma once

#include <cstdint>
#include <vector>

namespace ddprun::worker {

struct DistributedSamplerOptions {
  bool shuffle = true;
  /// If ranks do not divide the data set evenly: drop the rest, or else repeat samples from
  /// the beginning of the epoch.
  bool drop_last = false;
  std::uint64_t seed =
      0;  ///< The order of epoch e is a function of seed + e, the same on all ranks.
};

/// Not for more than 2^53 samples.
class DistributedSampler {
 public:
  /// For rank `rank` of `world_size` and `samples_count` samples. Throws Error unless
  /// 0 <= rank < world_size and samples_count >= 0.
  DistributedSampler(std::int64_t samples_count,
                     int rank,
                     int world_size,
                     const DistributedSamplerOptions& options = {});

  /// The samples of this rank in `epoch`, in order, without those that all ranks together had used
  /// when they stopped: the first `used_count` of the epoch's order, which ranks take in turns,
  /// sample by sample. The world size may have changed. Every rank gets equally many.
  [[nodiscard]] std::vector<std::int64_t> indices(std::int64_t epoch,
                                                  std::int64_t used_count = 0) const;

  /// Those of all ranks.
  [[nodiscard]] std::int64_t samples_count() const { return samples_count_; }

  /// How many indices() returns.
  [[nodiscard]] std::int64_t size(std::int64_t used_count = 0) const;

 private:
  std::int64_t samples_count_;
  int rank_;
  int world_size_;
  DistributedSamplerOptions options_;
};

}  // namespace ddprun::worker
