#include "worker/telemetry/nvidia_gpu.hpp"

#include "ddprun/error.hpp"

#include <dlfcn.h>
#include <memory>

namespace ddprun::worker {
namespace {

// As nvml.h of API version 2 and later declares them; its functions return 0 for success.
using NvmlDevice = void*;
struct NvmlUtilization {
  unsigned gpu;  // percent
  unsigned memory;
};
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// The library, loaded and ready.
class Nvml {
 public:
  explicit Nvml(const std::string& name)
      : library_(::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL), &::dlclose) {
    if (library_ == nullptr) throw Error(::dlerror());
    const std::string failure = call("nvmlInit_v2");
    if (!failure.empty()) throw Error(failure);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() { static_cast<void>(call("nvmlShutdown")); }

  /// Calls the function `name`, whose parameters have the types of `arguments`. The result says
  /// why it failed, and is empty if it did not. Old libraries lack some functions.
  template <typename... Arguments>
  [[nodiscard]] std::string call(const char* name, Arguments... arguments) const {
    const auto function = find<int (*)(Arguments...)>(name);
    if (function == nullptr) return text("NVIDIA's library has no ", name, "()");
    const int status = function(arguments...);
    if (status == 0) return {};
    const auto message_of = find<const char* (*)(int)>("nvmlErrorString");
    return text(name, "(): ", message_of == nullptr ? "error" : message_of(status), ", ", status);
  }

 private:
  template <typename Function>
  [[nodiscard]] Function find(const char* name) const {
    return reinterpret_cast<Function>(::dlsym(library_.get(), name));
  }

  std::unique_ptr<void, int (*)(void*)> library_;
};

class NvidiaGpu {
 public:
  NvidiaGpu(const std::string& address, const std::string& library) : nvml_(library) {
    const std::string failure =
        nvml_.call("nvmlDeviceGetHandleByPciBusId_v2", address.c_str(), &device_);
    if (!failure.empty()) throw Error(failure);
  }

  [[nodiscard]] GpuReading read() const {
    GpuReading reading;
    const auto reads = [&](const char* name, auto* value) {
      const std::string failure = nvml_.call(name, device_, value);
      if (!failure.empty()) reading.problem += (reading.problem.empty() ? "" : "; ") + failure;
      return failure.empty();
    };
    NvmlUtilization utilization{};
    unsigned milliwatts = 0;
    NvmlMemory memory{};
    if (reads("nvmlDeviceGetUtilizationRates", &utilization)) {
      reading.busy_percent = utilization.gpu;
    }
    if (reads("nvmlDeviceGetPowerUsage", &milliwatts)) reading.watts = milliwatts / 1e3;
    if (reads("nvmlDeviceGetMemoryInfo", &memory)) {
      reading.memory_bytes = static_cast<std::int64_t>(memory.used);
    }
    return reading;
  }

 private:
  Nvml nvml_;
  NvmlDevice device_ = nullptr;
};

}  // namespace

GpuReader open_nvidia_gpu(const std::string& address, const std::string& library) {
  const auto gpu = std::make_shared<NvidiaGpu>(address, library);
  return [gpu] { return gpu->read(); };
}

}  // namespace ddprun::worker
