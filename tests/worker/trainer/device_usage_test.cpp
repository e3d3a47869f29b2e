#include "ddprun/device_usage.hpp"

#include "tests/worker/telemetry/event_reader.hpp"
#include "tests/worker/telemetry/fake_gpus.hpp"
#include "tests/worker/trainer/trainer_support.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <regex>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using test::error_of;
using test::FakeNvml;
using test::TemporaryFolder;
using test::train_epochs;

struct Told {
  std::vector<std::string> lines;
  std::vector<std::string> warnings;
};

/// A start of a training of two epochs.
Told told_of(const TemporaryFolder& folder, DeviceUsageOptions options) {
  Told told;
  options.say = [&](const std::string& lines) { told.lines.push_back(lines); };
  options.warn = [&](const std::string& line) { told.warnings.push_back(line); };
  options.read_every = std::chrono::hours(10);  // only at the end of epochs
  DeviceUsage usage(std::move(options));
  CHECK(train_epochs(folder, {0.5, 0.25}, usage) == 2);
  return told;
}

TEST_CASE("device usage: a rank on a CPU tells its peak memory, and nothing is warned of") {
  const TemporaryFolder folder;
  const Told told = told_of(folder, {.nvml = "libnowhere.so.1"});
  REQUIRE(told.lines.size() == 2);
  for (const std::string& line : told.lines) {
    CHECK(std::regex_match(line, std::regex("rank 0: peak memory [0-9]+\\.[0-9] GB")));
  }
  CHECK(told.warnings.empty());
}

TEST_CASE("device usage: a rank with a GPU tells its memory, how busy it was, and its power") {
  const TemporaryFolder folder;
  FakeNvml library;
  const Told told = told_of(folder, {.gpu = "0000:1b:00.0", .nvml = FAKE_NVML});
  REQUIRE(told.lines.size() == 2);
  CHECK(told.lines[0].ends_with(" GB, GPU 10.3 GB, 20 % busy, 100 W"));
  CHECK(told.lines[1].ends_with(" GB, GPU 10.3 GB, 40 % busy, 200 W"));
  CHECK(told.warnings.empty());
  CHECK(library.users() == 0);

  const TemporaryFolder sysfs;
  test::add_amd_gpu(sysfs, "0000:c1:00.0", "power1_average");
  const TemporaryFolder other;
  const Told of_amd = told_of(other, {.gpu = "0000:c1:00.0", .nvml = "", .sysfs = sysfs.path()});
  REQUIRE(of_amd.lines.size() == 2);
  CHECK(of_amd.lines[0].ends_with(" GB, GPU 10.3 GB, 87 % busy, 285 W"));
}

TEST_CASE("device usage: what a driver does not tell costs one warning, and not the training") {
  const TemporaryFolder folder;
  const FakeNvml library;
  const Told in_mig_mode = told_of(folder, {.gpu = "0000:1c:00.0", .nvml = FAKE_NVML});
  REQUIRE(in_mig_mode.lines.size() == 2);
  CHECK(in_mig_mode.lines[1].ends_with(" GB, GPU 5.0 GB, 71 W"));
  CHECK(in_mig_mode.warnings ==
        std::vector<std::string>{"rank 0 misses how its GPU is used: "
                                 "nvmlDeviceGetUtilizationRates(): Not Supported, 3"});

  const TemporaryFolder other;
  const Told absent = told_of(other, {.gpu = "0000:1d:00.0", .nvml = FAKE_NVML});
  CHECK(absent.lines.size() == 2);
  CHECK(absent.warnings ==
        std::vector<std::string>{"rank 0 misses how its GPU is used: "
                                 "nvmlDeviceGetHandleByPciBusId_v2(): Not Found, 6"});
}

TEST_CASE("device usage: each rank has its curves in a folder of its own") {
  const TemporaryFolder folder;
  const FakeNvml library;
  static_cast<void>(
      told_of(folder, {.curves = folder / "runs", .gpu = "0000:1b:00.0", .nvml = FAKE_NVML}));
  std::vector<std::string> points;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "runs/rank0")) {
    for (const std::string& record : test::records_of(test::read_bytes(entry.path()))) {
      const test::Fields event(record);
      if (!event.has(5)) continue;  // Event.summary
      points.push_back(text(event.message(5).message(1).bytes(1), " ", event.integer(2)));
    }
  }
  CHECK(points == std::vector<std::string>{"usage/memory_bytes 2",
                                           "usage/gpu_memory_bytes 2",
                                           "usage/gpu_busy_percent 2",
                                           "usage/gpu_watts 2",
                                           "usage/memory_bytes 4",
                                           "usage/gpu_memory_bytes 4",
                                           "usage/gpu_busy_percent 4",
                                           "usage/gpu_watts 4"});
}

TEST_CASE("device usage: a period below 1 ms is refused") {
  CHECK(error_of([] { DeviceUsage({.read_every = std::chrono::milliseconds(0)}); }) ==
        "read_every of a DeviceUsage is 0 ms; give at least 1");
}

}  // namespace
}  // namespace ddprun::worker
