#include "launcher/devices/devices.hpp"

#include "launcher/devices/read_topology.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

using std::filesystem::path;

/// What follows `key` in the file's first line that begins with it, without blanks around it.
std::string value_in(const path& name, std::string_view key) {
  std::ifstream file(name);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return std::string(trimmed(line.substr(key.size())));
  }
  return {};
}

std::vector<path> folders_in(const path& folder) {
  std::vector<path> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

struct NvidiaDevice {
  std::string uuid;
  path node;  ///< Empty: not told.
  int numa_node;
};

/// access(2) asks the device cgroup as open(2) does, and wakes no device.
bool may_open(const path& node) {
  return ::access(node.c_str(), R_OK | W_OK) == 0;
}

/// /proc/driver/nvidia/gpus has a folder for each device with a file `information`: "GPU UUID:
/// GPU-…", "Device Minor: 0". If none of the devices' nodes exists yet, CUDA makes them.
NodeGpus find_nvidia(const path& root) {
  std::vector<NvidiaDevice> devices;
  for (const path& folder : folders_in(root / "proc/driver/nvidia/gpus")) {
    const path information = folder / "information";
    const std::string minor = value_in(information, "Device Minor:");
    const path node = minor.empty() ? path() : root / ("dev/nvidia" + minor);
    devices.push_back({value_in(information, "GPU UUID:"),
                       node,
                       read_numa_node(folder.filename().string(), root)});
  }
  std::error_code error;
  const bool has_nodes = std::ranges::any_of(devices, [&](const NvidiaDevice& device) {
    return std::filesystem::symlink_status(device.node, error).type() !=
           std::filesystem::file_type::not_found;
  });
  NodeGpus gpus;
  for (NvidiaDevice& device : devices) {
    if (has_nodes && !device.node.empty() && !may_open(device.node)) continue;
    gpus.uuids.push_back(std::move(device.uuid));
    gpus.numa_nodes.push_back(device.numa_node);
  }
  return gpus;
}

/// The PCI address of a device, as the kernel's list of compute devices packs it (kfd_topology.h).
std::string pci_address(std::uint64_t domain, std::uint64_t location) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{}",
                     domain,
                     (location >> 8U) & 0xffU,
                     (location >> 3U) & 0x1fU,
                     location & 7U);
}

/// 0 if it is not there.
std::uint64_t property(const path& properties, std::string_view key) {
  std::uint64_t number = 0;
  std::istringstream(value_in(properties, key)) >> number;
  return number;
}

struct AmdDevice {
  std::int64_t number;  // 10 comes after 9
  std::string uuid;
  int numa_node;
};

/// The kernel's list of compute devices: `gpu_id` is 0 for a CPU, and cannot be read for a
/// device that this process may not open.
NodeGpus find_amd(const path& root) {
  std::vector<AmdDevice> devices;
  for (const path& folder : folders_in(root / "sys/class/kfd/kfd/topology/nodes")) {
    const auto number = parse_count(folder.filename().string());
    const auto id = parse_count(value_in(folder / "gpu_id", ""));
    if (!number || !id || *id == 0) continue;
    const path properties = folder / "properties";
    const std::uint64_t unique = property(properties, "unique_id ");
    const std::string address =
        pci_address(property(properties, "domain "), property(properties, "location_id "));
    devices.push_back({*number,
                       unique == 0 ? "" : fmt::format("GPU-{:016x}", unique),
                       read_numa_node(address, root)});
  }
  std::ranges::sort(devices, {}, &AmdDevice::number);
  NodeGpus gpus;
  gpus.vendor = GpuVendor::amd;
  for (AmdDevice& device : devices) {
    gpus.uuids.push_back(std::move(device.uuid));
    gpus.numa_nodes.push_back(device.numa_node);
  }
  return gpus;
}

/// Its drivers list a CPU's own graphics like the GPUs that compute.
bool has_intel(const path& root) {
  for (const char* driver : {"i915", "xe"}) {
    for (const path& entry : folders_in(root / "sys/bus/pci/drivers" / driver)) {
      const bool is_device = entry.filename().string().find(':') != std::string::npos;
      if (is_device) return true;
    }
  }
  return false;
}

}  // namespace

NodeGpus find_gpus(const path& root) {
  NodeGpus gpus = find_nvidia(root);
  if (gpus.uuids.empty()) gpus = find_amd(root);
  if (gpus.uuids.empty() && has_intel(root)) gpus.vendor = GpuVendor::intel;
  return gpus;
}

CoreSet usable_cores() {
  constexpr int count_max = core_number_max + 1;
  cpu_set_t* mask = CPU_ALLOC(count_max);
  const std::size_t bytes = CPU_ALLOC_SIZE(count_max);
  CoreSet cores;
  if (sched_getaffinity(0, bytes, mask) == 0) {
    const auto count = static_cast<std::size_t>(CPU_COUNT_S(bytes, mask));
    for (int core = 0; cores.size() < count; ++core) {
      if (CPU_ISSET_S(core, bytes, mask)) cores.insert(core);
    }
  }
  CPU_FREE(mask);
  if (cores.empty()) cores.insert(0);
  return cores;
}

}  // namespace ddprun
