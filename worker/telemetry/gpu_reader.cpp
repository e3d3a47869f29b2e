#include "worker/telemetry/gpu_reader.hpp"

#include "worker/telemetry/amd_gpu.hpp"
#include "worker/telemetry/nvidia_gpu.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <dlfcn.h>
#include <fstream>

namespace ddprun::worker {

std::string gpu_address(int index) {
  for (const char* const name : {"cudaDeviceGetPCIBusId", "hipDeviceGetPCIBusId"}) {
    const auto tell =
        reinterpret_cast<int (*)(char* address, int size, int index)>(::dlsym(RTLD_DEFAULT, name));
    std::array<char, 32> address{};
    if (tell == nullptr || tell(address.data(), address.size(), index) != 0) continue;
    std::string found = address.data();
    std::transform(found.begin(), found.end(), found.begin(), [](unsigned char letter) {
      return static_cast<char>(std::tolower(letter));  // as in sysfs
    });
    return found;
  }
  return {};
}

GpuReader open_gpu(const std::string& address,
                   const std::filesystem::path& sysfs,
                   const std::string& nvml) {
  const std::filesystem::path folder = sysfs / "bus/pci/devices" / address;
  std::string vendor;
  std::ifstream(folder / "vendor") >> vendor;
  return vendor == "0x1002" ? open_amd_gpu(folder) : open_nvidia_gpu(address, nvml);
}

}  // namespace ddprun::worker
