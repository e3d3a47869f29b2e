// The files of shards; shard_index.hpp has their format.
#pragma once

#include "worker/snapshots/shard_index.hpp"

#include <torch/torch.h>

#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::worker {

/// Writes a shard of `header` and `data`, a row of bytes on the CPU, to `path`, whole or not at
/// all. When this returns it is on the disk. Throws FileError.
ShardSum write_shard(const std::filesystem::path& path,
                     const std::string& header,
                     const torch::Tensor& data);

/// A shard as an index describes it.
struct ExpectedShard {
  std::filesystem::path path;
  std::string header;
  ShardSum sum;
};

/// Throws Error, which begins with the path, if it is not there or has another length.
void require_shard(const ExpectedShard& shard);

/// Where bytes of a shard go.
struct ShardTarget {
  std::int64_t position = 0;  ///< Without the header.
  torch::Tensor bytes;        ///< A row, on the CPU.
};

/// Reads the shard into `targets`, which lie in the order of their positions and do not overlap.
/// Throws Error, which begins with the path, if it is not there, cannot be read, is another
/// snapshot's or damaged. The targets may have been written to then.
void read_shard(const ExpectedShard& shard, const std::vector<ShardTarget>& targets);

}  // namespace ddprun::worker
