// How busy a GPU was, how much power it took and how much of its memory was in use, over a span of
// time.
#pragma once

#include "worker/telemetry/gpu_reader.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ddprun::worker {

/// A mean over time, of values that each stand for the time before them.
class TimeMean {
 public:
  void add(const std::optional<double>& value, std::chrono::duration<double> time);
  [[nodiscard]] std::optional<double> value() const;

 private:
  double sum_ = 0;
  double seconds_ = 0;
};

/// Reads a GPU in each `period` on a thread of its own. The destructor ends a wait at once.
class GpuSampler {
 public:
  /// The thread takes over `read`, and only one call runs at a time.
  GpuSampler(GpuReader read, std::chrono::milliseconds period);
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;
  ~GpuSampler();

  /// Since the construction or the last sample(), with one more reading now: the means over time,
  /// and the most memory. `problem` is the first one.
  [[nodiscard]] GpuReading sample();

 private:
  using Clock = std::chrono::steady_clock;

  void read_each_period();
  void read_now();  // the caller holds the mutex

  GpuReader read_;
  std::chrono::milliseconds period_;
  std::mutex mutex_;  // of all below
  std::condition_variable ending_;
  bool ends_ = false;
  Clock::time_point read_at_ = Clock::now();
  TimeMean busy_percent_;
  TimeMean watts_;
  std::optional<std::int64_t> memory_bytes_;
  std::string problem_;
  std::thread thread_;
};

}  // namespace ddprun::worker
