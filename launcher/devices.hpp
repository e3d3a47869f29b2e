// Which GPUs this node has, without any vendor library.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ddprun {

/// Where the NVIDIA driver lists its devices: one folder each, with a file `information`.
constexpr const char* nvidia_gpus_folder = "/proc/driver/nvidia/gpus";

/// The UUIDs of the devices in `gpus_folder` in the order of PCI addresses, which is CUDA's with
/// CUDA_DEVICE_ORDER=PCI_BUS_ID; "" for one that does not tell.
[[nodiscard]] std::vector<std::string> list_gpus(const std::string& gpus_folder);

/// How many of the devices `uuids` a CUDA program would see: all, narrowed by the value of
/// CUDA_VISIBLE_DEVICES if that is set. As in CUDA, the list ends at its first entry that names no
/// device, and a device named twice leaves none (CUDA C++ Programming Guide, CUDA_VISIBLE_DEVICES).
[[nodiscard]] int count_visible_gpus(const std::vector<std::string>& uuids,
                                     const std::optional<std::string>& cuda_visible_devices);

/// How many cores this process may use, by its affinity mask; at least 1.
[[nodiscard]] int count_usable_cores();

}  // namespace ddprun
