// What each rank uses of its machine, told at the end of epochs, so that nobody has to run
// nvidia-smi or rocm-smi beside a training: its memory, and how busy its GPU is.
//
//     worker::DeviceUsage usage;
//     usage.begin(session);  // a Trainer calls this and, at the end of epochs, tell()
//     for (const worker::Step& step : session.steps(samples_count)) {
//       ...
//       if (step.ends_epoch) usage.tell(session);
//     }
#pragma once

#include "ddprun/callback.hpp"
#include "ddprun/event_file.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace ddprun::worker {

class GpuSampler;

/// Of one rank, since DeviceUsage::begin() or the last tell(). What could not be read is missing.
struct Usage {
  /// The most resident memory of the process: the kernel's VmHWM, with the pages of libraries and
  /// of shared memory. Where the kernel cannot reset it, since the start of the process.
  std::optional<std::int64_t> memory_bytes;
  /// The most that LibTorch's allocator had from the GPU. Before LibTorch 2.9, or if it had none,
  /// the most that the driver's readings found in use on the GPU, by all processes.
  std::optional<std::int64_t> gpu_memory_bytes;
  /// The share of time in which a kernel ran, from 0 to 100: the mean of the driver's readings.
  std::optional<double> gpu_busy_percent;
  std::optional<double> gpu_watts;  ///< The mean of the driver's readings, of the whole GPU.
};

struct DeviceUsageOptions {
  /// Each rank writes TensorBoard's curves into the folder rankRANK in it: usage/memory_bytes,
  /// usage/gpu_memory_bytes, usage/gpu_busy_percent and usage/gpu_watts. Empty: no curves.
  std::filesystem::path curves;
  std::chrono::milliseconds read_every{500};  ///< At least 1.
  /// Rank 0's, for the lines of all ranks, which `\n` separates. Default: to standard error.
  std::function<void(const std::string& lines)> say;
  /// Gets the one line of a rank that misses something of its GPU. Default: to standard error.
  std::function<void(const std::string& line)> warn;
  /// The PCI address of the GPU, such as 0000:1b:00.0. Empty: of the session's device.
  std::string gpu;
  std::string nvml = "libnvidia-ml.so.1";  ///< NVIDIA's library, for dlopen().
  std::filesystem::path sysfs = "/sys";    ///< Where AMD's driver has its files.
};

/// Tells one line a rank: "rank 1: peak memory 1.2 GB, GPU 10.3 GB, 87 % busy, 284 W", where GB
/// are 10^9 bytes. On a CPU it has the memory alone, and no thread is started. A thread of its own
/// reads a GPU, NVIDIA's by the driver's library, AMD's by sysfs. A driver that does not tell
/// something costs one warning and never the training. Each call begins the peaks of the kernel
/// and of LibTorch's allocator anew, also for others who read them.
class DeviceUsage : public Callback {
 public:
  /// Throws Error if read_every is below 1 ms.
  explicit DeviceUsage(DeviceUsageOptions options = {});
  DeviceUsage(const DeviceUsage&) = delete;
  DeviceUsage& operator=(const DeviceUsage&) = delete;
  ~DeviceUsage() override;

  /// After Session::prepare(). Throws FileError if a folder of curves cannot be written to.
  void begin(Session& session) override;
  void finish_epoch(Session& session, const EpochReport& report) override;

  /// Within a step, usually the last one of an epoch: says and writes what was used since the last
  /// call, and returns this rank's. Collective.
  Usage tell(Session& session);

 private:
  [[nodiscard]] Usage take(const Session& session);
  void warn_once(const Session& session, const std::string& problem);

  DeviceUsageOptions options_;
  EventFile events_;
  std::unique_ptr<GpuSampler> sampler_;  // null: no driver tells of a GPU
  bool has_warned_ = false;
};

}  // namespace ddprun::worker
