#include "worker/telemetry/gpu_sampler.hpp"

#include <algorithm>
#include <utility>

namespace ddprun::worker {

void TimeMean::add(const std::optional<double>& value, std::chrono::duration<double> time) {
  if (!value) return;
  sum_ += *value * time.count();
  seconds_ += time.count();
}

std::optional<double> TimeMean::value() const {
  if (seconds_ <= 0) return std::nullopt;
  return sum_ / seconds_;
}

GpuSampler::GpuSampler(GpuReader read, std::chrono::milliseconds period)
    : read_(std::move(read)), period_(period), thread_([this] { read_each_period(); }) {}

GpuSampler::~GpuSampler() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ending_.notify_one();
  thread_.join();
}

GpuReading GpuSampler::sample() {
  const std::lock_guard lock(mutex_);
  read_now();
  return {std::exchange(busy_percent_, {}).value(),
          std::exchange(watts_, {}).value(),
          std::exchange(memory_bytes_, std::nullopt),
          std::exchange(problem_, {})};
}

void GpuSampler::read_each_period() {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, period_, [this] { return ends_; })) read_now();
}

void GpuSampler::read_now() {
  const GpuReading reading = read_();
  const Clock::time_point now = Clock::now();
  const Clock::duration time = now - std::exchange(read_at_, now);
  busy_percent_.add(reading.busy_percent, time);
  watts_.add(reading.watts, time);
  if (reading.memory_bytes) {
    memory_bytes_ = std::max(memory_bytes_.value_or(0), *reading.memory_bytes);
  }
  if (problem_.empty()) problem_ = reading.problem;
}

}  // namespace ddprun::worker
