// The GPUs and cores that this process may use, without any vendor's library.
#pragma once

#include "launcher/devices/core_set.hpp"
#include "launcher/devices/gpus.hpp"

#include <filesystem>

namespace ddprun {

/// The devices that the drivers of NVIDIA, or else AMD, list below `root`, and that this process
/// may open. Slurm and containers hide devices by denying that; the drivers still list them. Of
/// Intel's GPUs the result only says that there is one.
///
/// NVIDIA's are in the order of PCI addresses, which is CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID,
/// AMD's in the order of their nodes, which is ROCm's.
[[nodiscard]] NodeGpus find_gpus(const std::filesystem::path& root = "/");

/// The cores that this process may use, by its affinity mask; at least one.
[[nodiscard]] CoreSet usable_cores();

}  // namespace ddprun
