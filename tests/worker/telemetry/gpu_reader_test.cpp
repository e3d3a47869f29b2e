#include "worker/telemetry/gpu_reader.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"
#include "tests/worker/telemetry/fake_gpus.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::FakeNvml;
using test::TemporaryFolder;
using test::write_bytes;

const std::string gpu_1 = "0000:1b:00.0";
const std::string gpu_2 = "0000:1c:00.0";

GpuReader open_nvidia(const std::string& address, const char* library = FAKE_NVML) {
  return open_gpu(address, "/nowhere", library);
}

TEST_CASE("GPU reader: NVIDIA's library tells how busy a GPU is, its power and its memory") {
  const FakeNvml library;
  const GpuReader read = open_nvidia(gpu_1);
  for (const double factor : {1, 2}) {
    const GpuReading reading = read();
    CHECK(reading.busy_percent == 20 * factor);
    CHECK(reading.watts == 100 * factor);
    CHECK(reading.memory_bytes == 10'300'000'000);
    CHECK(reading.problem.empty());
  }
}

TEST_CASE("GPU reader: NVIDIA's library is loaded once more for each reader, and let go") {
  const FakeNvml library;
  {
    const GpuReader read = open_nvidia(gpu_1);
    const GpuReader other = open_nvidia(gpu_2);
    CHECK(library.users() == 2);
  }
  CHECK(error_of([] { open_nvidia("0000:1d:00.0"); }) ==
        "nvmlDeviceGetHandleByPciBusId_v2(): Not Found, 6");
  CHECK(library.users() == 0);
}

TEST_CASE("GPU reader: a value that NVIDIA's library does not tell is missing, not 0") {
  const FakeNvml library;
  const GpuReading in_mig_mode = open_nvidia(gpu_2)();
  CHECK_FALSE(in_mig_mode.busy_percent);
  CHECK(in_mig_mode.watts == 70.5);
  CHECK(in_mig_mode.problem == "nvmlDeviceGetUtilizationRates(): Not Supported, 3");

  const FakeNvml old_library(FAKE_OLD_NVML);
  const GpuReading old = open_nvidia(gpu_1, FAKE_OLD_NVML)();
  CHECK(old.busy_percent == 20);
  CHECK_FALSE(old.watts);
  CHECK(old.problem == "NVIDIA's library has no nvmlDeviceGetPowerUsage()");
}

TEST_CASE("GPU reader: a GPU that is lost has no values, and all functions say why") {
  FakeNvml library;
  const GpuReader read = open_nvidia(gpu_1);
  library.fail_with(15);
  const GpuReading reading = read();
  CHECK_FALSE(reading.busy_percent);
  CHECK_FALSE(reading.watts);
  CHECK_FALSE(reading.memory_bytes);
  CHECK(reading.problem ==
        "nvmlDeviceGetUtilizationRates(): GPU is lost, 15; nvmlDeviceGetPowerUsage(): GPU is lost, "
        "15; nvmlDeviceGetMemoryInfo(): GPU is lost, 15");
}

TEST_CASE("GPU reader: without NVIDIA's library, or with a broken one, it cannot be opened") {
  CHECK(contains(error_of([] { open_nvidia(gpu_1, "libnowhere.so.1"); }), "libnowhere.so.1"));
  CHECK(error_of([] { open_nvidia(gpu_1, "libz.so.1"); }) ==
        "NVIDIA's library has no nvmlInit_v2()");
  FakeNvml library;
  library.fail_with(15);
  CHECK(error_of([] { open_nvidia(gpu_1); }) == "nvmlInit_v2(): GPU is lost, 15");
}

TEST_CASE("GPU reader: AMD's GPUs are read from the folder of their address in sysfs") {
  const TemporaryFolder sysfs;
  const auto folder = test::add_amd_gpu(sysfs, "0000:c1:00.0", "power1_average");
  const auto other = test::add_amd_gpu(sysfs, "0000:c2:00.0", "power1_input");
  write_bytes(other / "gpu_busy_percent", "3\n");
  const GpuReader read = open_gpu("0000:c1:00.0", sysfs.path(), "");
  CHECK(read().busy_percent == 87);
  CHECK(read().watts == 284.5);
  CHECK(read().memory_bytes == 10'300'000'000);
  CHECK(read().problem.empty());
  write_bytes(folder / "gpu_busy_percent", "100\n");
  CHECK(read().busy_percent == 100);

  const GpuReading reading = open_gpu("0000:c2:00.0", sysfs.path(), "")();
  CHECK(reading.busy_percent == 3);
  CHECK(reading.watts == 284.5);
}

TEST_CASE("GPU reader: a file of sysfs that is missing or has no number is named") {
  const TemporaryFolder sysfs;
  const auto folder = test::add_amd_gpu(sysfs, "0000:c1:00.0", "");
  std::filesystem::remove(folder / "mem_info_vram_used");
  const GpuReader read = open_gpu("0000:c1:00.0", sysfs.path(), "");
  for (const std::string wrong : {"101", "-1", "8x", "x", "99999999999999999999999999999999999"}) {
    write_bytes(folder / "gpu_busy_percent", wrong);
    const GpuReading reading = read();
    CHECK_FALSE(reading.busy_percent);
    CHECK_FALSE(reading.watts);
    CHECK_FALSE(reading.memory_bytes);
    CHECK(reading.problem == text((folder / "gpu_busy_percent").native(),
                                  " is \"",
                                  wrong.substr(0, 32),
                                  "\", no number; cannot read ",
                                  (folder / "hwmon/hwmon*/power1_average").native(),
                                  "; cannot read ",
                                  (folder / "mem_info_vram_used").native()));
  }
}

TEST_CASE("GPU reader: a GPU that this process does not see has no address") {
  CHECK(gpu_address(0).empty());
}

}  // namespace
}  // namespace ddprun::worker
