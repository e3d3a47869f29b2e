#include "worker/telemetry/gpu_sampler.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <latch>

namespace ddprun::worker {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST_CASE("time mean: a value counts as long as it stands for, and a missing one not at all") {
  TimeMean mean;
  CHECK_FALSE(mean.value());
  mean.add(10, milliseconds(1000));
  mean.add(std::nullopt, hours(1));
  mean.add(90, milliseconds(3000));
  CHECK(mean.value() == 70);
}

TEST_CASE("GPU sampler: it reads by itself, and a sample has what was since the one before") {
  std::latch has_read_twice(2);
  int readings = 0;
  GpuSampler sampler(
      [&] {
        if (readings++ < 2) has_read_twice.count_down();
        return GpuReading{50, 200, readings == 1 ? 9 : 3, readings == 2 ? "it was read twice" : ""};
      },
      milliseconds(1));
  has_read_twice.wait();
  const GpuReading first = sampler.sample();
  CHECK(first.busy_percent == doctest::Approx(50));
  CHECK(first.watts == doctest::Approx(200));
  CHECK(first.memory_bytes == 9);
  CHECK(first.problem == "it was read twice");
  const GpuReading second = sampler.sample();
  CHECK(second.memory_bytes == 3);
  CHECK(second.problem.empty());
}

TEST_CASE("GPU sampler: a sample reads, however long the period is, and the end waits for none") {
  GpuSampler sampler([] { return GpuReading{std::nullopt, 5, std::nullopt, ""}; }, hours(10));
  const GpuReading reading = sampler.sample();
  CHECK_FALSE(reading.busy_percent);
  CHECK(reading.watts == doctest::Approx(5));
  CHECK_FALSE(reading.memory_bytes);
}

}  // namespace
}  // namespace ddprun::worker
