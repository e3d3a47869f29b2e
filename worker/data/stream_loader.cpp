#include "ddprun/stream_loader.hpp"

#include "ddprun/batch_loader.hpp"
#include "ddprun/error.hpp"
#include "worker/data/loader_parts.hpp"
#include "worker/ranks/usable_device.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace ddprun::worker {
namespace {

/// One without samples is the last, and stays: the stream has ended, or failed.
struct ReadBatch {
  Batch batch;
  std::int64_t size = 0;
  std::exception_ptr failure;
};

std::exception_ptr stream_failure(std::int64_t number, const char* what) {
  return std::make_exception_ptr(
      Error(text("sample ", number, " of the stream cannot be used: ", what)));
}

}  // namespace

struct StreamLoader::State {
  State(Source stream, const ProcessGroup& ranks, const StreamLoaderOptions& chosen)
      : source(std::move(stream)),
        group(ranks),
        options(chosen),
        used_count(chosen.used_count),
        number(chosen.used_count + ranks.rank()),
        skip_count(number) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    {
      const std::lock_guard lock(mutex);
      stops = true;
    }
    place_is_free.notify_one();
    if (thread.joinable()) thread.join();
  }

  void read_batches() {
    // Else pinned memory would need a context on the first GPU too.
    const c10::DeviceGuard current_device(options.device);
    const torch::NoGradGuard no_gradients;
    torch::Generator draws = at::detail::createCPUGenerator();
    for (bool is_over = false; !is_over;) {
      {
        std::unique_lock lock(mutex);
        const auto depth = static_cast<std::size_t>(options.depth);
        place_is_free.wait(lock, [&] { return stops || batches.size() < depth; });
      }
      ReadBatch read = read_batch(draws);
      is_over = read.size == 0;
      const std::lock_guard lock(mutex);
      batches.push_back(std::move(read));
      batch_is_read.notify_one();
    }
  }

  /// Fewer samples than a batch has are the last ones.
  [[nodiscard]] ReadBatch read_batch(torch::Generator& draws) {
    ReadBatch read;
    try {
      while (read.size < options.batch_size) {
        const std::optional<Sample> sample = read_sample(draws);
        if (!sample) break;
        if (read.size == 0) {
          read.batch = rows_for(
              *sample, static_cast<std::size_t>(options.batch_size), options.device.is_cuda());
        }
        copy_into_row(read.batch, static_cast<std::size_t>(read.size++), *sample);
        number += group.size();
        skip_count = group.size() - 1;
      }
    } catch (const std::exception& error) {
      return {.failure = stream_failure(number - skip_count, error.what())};
    } catch (...) {
      return {.failure = stream_failure(number - skip_count, "unknown exception")};
    }
    if (read.size == 0) return {};
    return {.batch = {.inputs = read.batch.inputs.narrow(0, 0, read.size),
                      .targets = read.batch.targets.narrow(0, 0, read.size)},
            .size = read.size};
  }

  /// The next one of this rank, behind those of others. None is read any more once this stops.
  [[nodiscard]] std::optional<Sample> read_sample(torch::Generator& draws) {
    if (source.skip && skip_count > 0 && !is_stopping()) {
      source.skip(skip_count);
      skip_count = 0;
    }
    for (; skip_count > 0; --skip_count) {
      if (is_stopping() || !source.next(draws)) return std::nullopt;
    }
    if (is_stopping()) return std::nullopt;
    draws.set_current_seed(draw_seed(options.draw_seed, number));
    return source.next(draws);
  }

  [[nodiscard]] bool is_stopping() {
    const std::lock_guard lock(mutex);
    return stops;
  }

  [[nodiscard]] ReadBatch take() {
    std::unique_lock lock(mutex);
    batch_is_read.wait(lock, [&] { return !batches.empty(); });
    ReadBatch first = batches.front();
    if (first.size > 0) batches.pop_front();
    place_is_free.notify_one();
    return first;
  }

  Source source;
  ProcessGroup group;
  StreamLoaderOptions options;
  std::int64_t used_count;
  std::int64_t number;      // the thread's: of its next sample
  std::int64_t skip_count;  // the thread's: samples of others before that one
  std::mutex mutex;         // of what follows
  std::condition_variable place_is_free;
  std::condition_variable batch_is_read;
  std::deque<ReadBatch> batches;
  bool stops = false;
  std::thread thread;
};

StreamLoader::StreamLoader(Source source,
                           const ProcessGroup& group,
                           const StreamLoaderOptions& options) {
  if (options.batch_size < 1 || options.used_count < 0 || options.depth < 1) {
    throw Error(text("a stream loader cannot have a batch_size of ",
                     options.batch_size,
                     ", a used_count of ",
                     options.used_count,
                     " and a depth of ",
                     options.depth,
                     "; batch_size and depth must be at least 1, used_count at least 0"));
  }
  require_device(options.device, "a stream loader");
  state_ = std::make_unique<State>(std::move(source), group, options);
  state_->thread = start_reader([state = state_.get()] { state->read_batches(); });
}

StreamLoader::~StreamLoader() = default;

std::optional<Batch> StreamLoader::next() {
  const ReadBatch read = state_->take();
  const torch::Tensor sums = torch::tensor(
      {read.size, std::int64_t{read.size == 0}, std::int64_t{read.failure != nullptr}});
  if (state_->group.size() > 1) state_->group.all_reduce_sum(sums);
  if (read.failure) std::rethrow_exception(read.failure);
  if (sums[2].item<std::int64_t>() > 0) {
    throw Error("the stream cannot be read on another rank, which says why");
  }
  if (sums[1].item<std::int64_t>() > 0) return std::nullopt;
  state_->used_count += sums[0].item<std::int64_t>();
  return Batch{.inputs = read.batch.inputs.to(state_->options.device, /*non_blocking=*/true),
               .targets = read.batch.targets.to(state_->options.device, /*non_blocking=*/true)};
}

std::int64_t StreamLoader::used_count() const {
  return state_->used_count;
}

}  // namespace ddprun::worker
