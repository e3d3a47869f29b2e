// GPUs for tests: NVIDIA's by fake_nvml.cpp, and AMD's as files.
#pragma once

#include "tests/worker/support.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace ddprun::worker::test {

/// The library of this path, and the variables by which a test leads it.
class FakeNvml {
 public:
  explicit FakeNvml(const char* path = FAKE_NVML) : library_(::dlopen(path, RTLD_NOW)) {
    if (library_ == nullptr) throw std::runtime_error(::dlerror());
    variable<int>("fake_nvml_status") = 0;
    variable<unsigned>("fake_nvml_readings") = 0;
  }
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;
  ~FakeNvml() { ::dlclose(library_); }

  [[nodiscard]] int users() const { return variable<int>("fake_nvml_users"); }
  void fail_with(int status) { variable<int>("fake_nvml_status") = status; }

 private:
  template <typename Type>
  [[nodiscard]] Type& variable(const char* name) const {
    return *static_cast<Type*>(::dlsym(library_, name));
  }

  void* library_;
};

/// The folder of a PCI device of AMD in a sysfs at `root`; with an empty `power_name` it has no
/// sensor.
inline std::filesystem::path add_amd_gpu(const TemporaryFolder& root,
                                         const std::string& address,
                                         const std::string& power_name) {
  const std::filesystem::path folder = root.path() / "bus/pci/devices" / address;
  std::filesystem::create_directories(folder / "hwmon/hwmon3");
  std::filesystem::create_directories(folder / "hwmon/hwmon4");
  write_bytes(folder / "vendor", "0x1002\n");
  write_bytes(folder / "gpu_busy_percent", "87\n");
  write_bytes(folder / "mem_info_vram_used", "10300000000\n");
  if (!power_name.empty()) write_bytes(folder / "hwmon/hwmon4" / power_name, "284500000\n");
  return folder;
}

}  // namespace ddprun::worker::test
