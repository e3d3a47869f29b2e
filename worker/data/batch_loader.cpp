#include "ddprun/batch_loader.hpp"

#include "ddprun/error.hpp"
#include "worker/data/loader_parts.hpp"
#include "worker/ranks/usable_device.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>

namespace ddprun::worker {
namespace {

/// A batch that was asked for. `batch` is written without the lock: each thread writes the rows of
/// the samples that it has taken.
struct Asked {
  Asked(std::vector<std::int64_t> numbers, std::uint64_t seed)
      : samples(std::move(numbers)), draw_seed(seed) {}

  [[nodiscard]] bool is_read() const { return read_count == samples.size(); }

  const std::vector<std::int64_t> samples;
  const std::uint64_t draw_seed;
  std::once_flag is_allocated;
  Batch batch;
  std::size_t taken_count = 0;
  std::size_t read_count = 0;
  std::size_t failed_row = 0;
  std::exception_ptr failure;  // of the sample in failed_row
};

}  // namespace

std::uint64_t draw_seed(std::uint64_t seed, std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  std::seed_seq words{seed & 0xffffffff, seed >> 32, bits & 0xffffffff, bits >> 32};
  std::array<std::uint32_t, 2> result{};
  words.generate(result.begin(), result.end());
  return std::uint64_t{result[1]} << 32 | result[0];
}

struct BatchLoader::State {
  State(std::int64_t count, Get get_sample, const BatchLoaderOptions& options)
      : samples_count(count),
        get(std::move(get_sample)),
        depth(static_cast<std::size_t>(options.depth)),
        device(options.device) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    {
      const std::lock_guard lock(mutex);
      stops = true;
    }
    can_take.notify_all();
    for (std::thread& each : threads) each.join();
  }

  void start(int threads_count) {
    for (int i = 0; i < threads_count; ++i) {
      threads.push_back(start_reader([this] { read_samples(); }));
    }
  }

  void read_samples() {
    // Else pinned memory would need a context on the first GPU too.
    const c10::DeviceGuard current_device(device);
    const torch::NoGradGuard no_gradients;
    torch::Generator draws = at::detail::createCPUGenerator();
    std::unique_lock lock(mutex);
    while (true) {
      Asked* asked = nullptr;
      can_take.wait(lock, [&] { return stops || (asked = first_to_take()) != nullptr; });
      if (stops) return;
      const std::size_t row = asked->taken_count++;
      lock.unlock();
      const std::exception_ptr failure = read_sample(*asked, row, draws);
      lock.lock();
      if (failure && (!asked->failure || row < asked->failed_row)) {
        asked->failed_row = row;
        asked->failure = failure;
      }
      ++asked->read_count;
      if (asked->is_read()) batch_is_read.notify_one();
    }
  }

  /// The first batch within the depth with a sample that no thread has taken, or null.
  [[nodiscard]] Asked* first_to_take() {
    const std::size_t count = std::min(depth, batches.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (batches[i].taken_count < batches[i].samples.size()) return &batches[i];
    }
    return nullptr;
  }

  /// What it throws is returned.
  [[nodiscard]] std::exception_ptr read_sample(Asked& asked,
                                               std::size_t row,
                                               torch::Generator& draws) const {
    const std::int64_t index = asked.samples[row];
    try {
      draws.set_current_seed(worker::draw_seed(asked.draw_seed, index));
      const Sample sample = get(index, draws);
      std::call_once(asked.is_allocated, [&] {
        asked.batch = rows_for(sample, asked.samples.size(), device.is_cuda());
      });
      copy_into_row(asked.batch, row, sample);
    } catch (const std::exception& error) {
      return std::make_exception_ptr(
          Error(text("sample ", index, " of the data set cannot be used: ", error.what())));
    } catch (...) {
      return std::make_exception_ptr(
          Error(text("sample ", index, " of the data set cannot be used: unknown exception")));
    }
    return nullptr;
  }

  std::int64_t samples_count;
  Get get;
  std::size_t depth;
  torch::Device device;
  std::mutex mutex;  // of what follows
  std::condition_variable can_take;
  std::condition_variable batch_is_read;
  std::deque<Asked> batches;  // its elements stay where they are
  bool stops = false;
  std::vector<std::thread> threads;
};

BatchLoader::BatchLoader(std::int64_t samples_count, Get get, const BatchLoaderOptions& options) {
  if (options.threads < 0 || options.depth < 1) {
    throw Error(text("a batch loader cannot have ",
                     options.threads,
                     " threads and a depth of ",
                     options.depth,
                     "; threads must be at least 0, depth at least 1"));
  }
  require_device(options.device, "a batch loader");
  state_ = std::make_unique<State>(samples_count, std::move(get), options);
  state_->start(options.threads > 0 ? options.threads : at::get_num_threads());
}

BatchLoader::~BatchLoader() = default;

void BatchLoader::ask(std::vector<std::int64_t> samples, std::uint64_t draw_seed) {
  if (samples.empty()) throw Error("a batch was asked for without samples");
  for (const std::int64_t index : samples) {
    if (index < 0 || index >= state_->samples_count) {
      throw Error(text("sample ",
                       index,
                       " was asked for, but the data set has the samples 0 to ",
                       state_->samples_count - 1));
    }
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->batches.emplace_back(std::move(samples), draw_seed);
  }
  state_->can_take.notify_all();
}

Batch BatchLoader::next() {
  Batch batch;
  {
    std::unique_lock lock(state_->mutex);
    if (state_->batches.empty()) throw Error("no batch was asked for: call ask() before next()");
    Asked& first = state_->batches.front();
    state_->batch_is_read.wait(lock, [&] { return first.is_read(); });
    batch = std::move(first.batch);
    const std::exception_ptr failure = first.failure;
    state_->batches.pop_front();
    state_->can_take.notify_all();
    if (failure) std::rethrow_exception(failure);
  }
  return {.inputs = batch.inputs.to(state_->device, /*non_blocking=*/true),
          .targets = batch.targets.to(state_->device, /*non_blocking=*/true)};
}

void BatchLoader::forget() {
  std::unique_lock lock(state_->mutex);
  for (Asked& asked : state_->batches) {
    asked.read_count += asked.samples.size() - asked.taken_count;  // nobody takes these any more
    asked.taken_count = asked.samples.size();
  }
  state_->batch_is_read.wait(lock, [&] {
    return std::all_of(
        state_->batches.begin(), state_->batches.end(), std::mem_fn(&Asked::is_read));
  });
  state_->batches.clear();
}

std::int64_t BatchLoader::size() const {
  return state_->samples_count;
}

}  // namespace ddprun::worker
