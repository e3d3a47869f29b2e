// Reads the batches of a stream by a thread, ahead of the training: of samples that come in one
// order and without a known end, such as records of a log or the shards of a web data set. Samples
// with numbers are read by a BatchLoader.
//
// All ranks read the same stream and take its samples in turns. So a restart goes on behind the
// samples that all ranks together have used, also with another number of ranks.
#pragma once

#include "ddprun/data_set.hpp"
#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace ddprun::worker {

/// `next(draws)` reads the next sample into new tensors on the CPU. It returns nothing at the end,
/// and again if it is called again. All that it draws comes from `draws`. A stream may have
/// `skip(count)`, which passes over `count` samples or to the end: for other ranks' samples and for
/// those before a restart, which are else read for nothing.
template <typename Type>
concept SampleStream = requires(Type& stream, torch::Generator& draws) {
  { stream.next(draws) } -> std::convertible_to<std::optional<Sample>>;
};

struct StreamLoaderOptions {
  std::int64_t batch_size = 32;  ///< Samples of each rank in a batch, at least 1.
  /// Samples at the beginning that all ranks together have used already: Position::samples.
  std::int64_t used_count = 0;
  /// What a sample draws is a function of this seed and its number in the stream.
  std::uint64_t draw_seed = 0;
  int depth = 4;  ///< Batches that are in memory before next() returns them, at least 1.
  /// Where next() puts batches. For a GPU they are read into pinned memory, and next() does not
  /// wait for the copy.
  torch::Device device = torch::kCPU;
};

/// One for an epoch. For one thread.
class StreamLoader {
 public:
  /// Starts the thread. `stream` is at its beginning, has the same samples on all ranks, must
  /// outlive this, and is used by that thread alone. Throws Error for options out of range.
  template <SampleStream Stream>
  StreamLoader(Stream& stream, const ProcessGroup& group, const StreamLoaderOptions& options = {})
      : StreamLoader(Source{[&stream](torch::Generator& draws) -> std::optional<Sample> {
                              return stream.next(draws);
                            },
                            skip_of(stream)},
                     group,
                     options) {}
  StreamLoader(const StreamLoader&) = delete;
  StreamLoader& operator=(const StreamLoader&) = delete;
  /// Waits for the sample that the thread reads now, or for a skip() of the stream.
  ~StreamLoader();

  /// Collective. The next batch of this rank, in new tensors on the device, or nothing on all ranks
  /// if one has no sample left: so up to world_size - 1 samples at the end are not used. The last
  /// batch may be smaller, and may be so on some ranks by one. Waits for the batch. Throws Error,
  /// on all ranks in the same call, if a sample could not be read: on its rank with its number and
  /// what the stream threw. Then or after the end each further call does the same.
  [[nodiscard]] std::optional<Batch> next();

  /// The samples that all ranks together have got from next(), and those before.
  [[nodiscard]] std::int64_t used_count() const;

 private:
  using Skip = std::function<void(std::int64_t count)>;
  struct Source {
    std::function<std::optional<Sample>(torch::Generator& draws)> next;
    Skip skip;  // none: by next()
  };
  template <SampleStream Stream>
  [[nodiscard]] static Skip skip_of(Stream& stream) {
    if constexpr (requires(std::int64_t count) { stream.skip(count); }) {
      return [&stream](std::int64_t count) { stream.skip(count); };
    } else {
      return {};
    }
  }
  struct State;

  StreamLoader(Source source, const ProcessGroup& group, const StreamLoaderOptions& options);

  std::unique_ptr<State> state_;
};

}  // namespace ddprun::worker
