// What a GPU's driver says of it at a moment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace ddprun::worker {

struct GpuReading {
  std::optional<double> busy_percent;  ///< Of the last second or less, in which a kernel ran.
  std::optional<double> watts;
  std::optional<std::int64_t> memory_bytes;  ///< In use, by all processes.
  std::string problem;                       ///< Why some of it is missing; empty: nothing is.
};

/// Reads one GPU. For one thread at a time.
using GpuReader = std::function<GpuReading()>;

/// The PCI address of the GPU that LibTorch calls cuda:`index`, such as 0000:1b:00.0, or an empty
/// text. The runtime of CUDA or HIP in this process tells it, so all variables that choose and
/// order GPUs are heeded.
[[nodiscard]] std::string gpu_address(int index);

/// Of the GPU at this PCI address: AMD's by the files below `sysfs`, others by NVIDIA's library
/// `nvml`, a name or a path for dlopen(). Throws Error if the driver does not tell of the GPU.
[[nodiscard]] GpuReader open_gpu(const std::string& address,
                                 const std::filesystem::path& sysfs,
                                 const std::string& nvml);

}  // namespace ddprun::worker
