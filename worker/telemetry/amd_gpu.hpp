// A GPU of AMD, read from the files of its driver, amdgpu, in sysfs.
#pragma once

#include "worker/telemetry/gpu_reader.hpp"

#include <filesystem>

namespace ddprun::worker {

/// `folder`: that of the PCI device. The files are gpu_busy_percent, mem_info_vram_used (bytes),
/// and below hwmon/ power1_average, or else power1_input (microwatts); see the kernel's
/// documentation of amdgpu.
[[nodiscard]] GpuReader open_amd_gpu(const std::filesystem::path& folder);

}  // namespace ddprun::worker
