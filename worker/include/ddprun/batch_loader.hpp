// Reads the batches of a training by threads, ahead of it. Each sample is a task of its own, so one
// slow file delays its batch alone, and a batch is there in a fraction of its work.
//
// What a sample draws, such as where it is cropped, is a function of the batch's seed and the
// sample's number. So a restart repeats it, in the middle of an epoch and with other numbers of
// ranks and threads.
#pragma once

#include "ddprun/data_set.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ddprun::worker {

struct BatchLoaderOptions {
  /// At least 0. 0: as many as LibTorch uses for one operator, torch::get_num_threads(), which is
  /// this rank's share of the cores under ddprun.
  int threads = 0;
  /// Batches that are in memory before next() returns them, at least 1.
  int depth = 4;
  /// Where next() puts batches. For a GPU they are read into pinned memory, and next() does not
  /// wait for the copy.
  torch::Device device = torch::kCPU;
};

/// A seed that is a function of `seed` and `number`, and unlike those of other numbers. For ask():
/// draw_seed(seed, epoch).
[[nodiscard]] std::uint64_t draw_seed(std::uint64_t seed, std::int64_t number);

/// For one thread.
class BatchLoader {
 public:
  /// Starts the threads. `data` must outlive this. Throws Error for options out of range.
  template <DataSet Data>
  explicit BatchLoader(const Data& data, const BatchLoaderOptions& options = {})
      : BatchLoader(
            data.size(),
            [&data](std::int64_t index, torch::Generator& draws) { return data.get(index, draws); },
            options) {}
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
  /// Waits for the samples that threads read now, at most one for each thread.
  ~BatchLoader();

  /// One more batch, of these samples in this order. A whole epoch may be asked for at once:
  /// batches beyond the depth cost only their numbers. Throws Error if `samples` is empty or has a
  /// number that is out of range.
  void ask(std::vector<std::int64_t> samples, std::uint64_t draw_seed);

  /// The first batch of those asked for that next() has not returned yet, in new tensors on the
  /// device. Waits for it. Throws Error if there is none. If a sample of the batch could not be
  /// read, throws Error with its number and what get() threw, of the first such sample; the batch
  /// is left out then.
  [[nodiscard]] Batch next();

  /// Forgets all batches that next() has not returned. Waits for the samples that threads read now.
  void forget();

  [[nodiscard]] std::int64_t size() const;  ///< Of the data.

 private:
  using Get = std::function<Sample(std::int64_t index, torch::Generator& draws)>;
  struct State;

  BatchLoader(std::int64_t samples_count, Get get, const BatchLoaderOptions& options);

  std::unique_ptr<State> state_;
};

}  // namespace ddprun::worker
