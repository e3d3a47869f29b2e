// A GPU of NVIDIA, read by NVML, the library of its driver.
#pragma once

#include "worker/telemetry/gpu_reader.hpp"

#include <string>

namespace ddprun::worker {

/// Loads `library`, which stays loaded as long as the reader lives. NVML ignores
/// CUDA_VISIBLE_DEVICES and counts GPUs in another order than CUDA, so it is asked for the GPU at
/// the PCI `address`. In MIG mode the power and the memory are those of the whole GPU, and
/// busy_percent is missing. Throws Error if the library cannot be loaded or does not know the
/// GPU.
[[nodiscard]] GpuReader open_nvidia_gpu(const std::string& address, const std::string& library);

}  // namespace ddprun::worker
