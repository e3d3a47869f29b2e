// A libnvidia-ml.so.1 for tests, with two GPUs. The first is busier with each reading, 20 %, 40 %
// and so on, and so is its power, 100 W, 200 W; the second is in MIG mode. IS_OLD: without
// nvmlDeviceGetPowerUsage().
#include <cstring>

extern "C" {

int fake_nvml_users = 0;          // calls of nvmlInit_v2() without their nvmlShutdown()
int fake_nvml_status = 0;         // what all functions but nvmlShutdown() return, if it is not 0
unsigned fake_nvml_readings = 0;  // of the first GPU

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

static int devices[2];
static bool is_first(const void* device) {
  return device == &devices[0];
}

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names
int nvmlInit_v2() {
  if (fake_nvml_status == 0) ++fake_nvml_users;
  return fake_nvml_status;
}
int nvmlShutdown() {
  --fake_nvml_users;
  return 0;
}
const char* nvmlErrorString(int status) {
  return status == 3 ? "Not Supported" : status == 6 ? "Not Found" : "GPU is lost";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  for (int i = 0; i < 2; ++i) {
    if (std::strcmp(address, i == 0 ? "0000:1b:00.0" : "0000:1c:00.0") != 0) continue;
    *device = &devices[i];
    return fake_nvml_status;
  }
  return 6;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* value) {
  if (!is_first(device)) return 3;
  ++fake_nvml_readings;
  *value = {20 * fake_nvml_readings, 1};
  return fake_nvml_status;
}
#ifndef IS_OLD
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = is_first(device) ? 100'000 * fake_nvml_readings : 70'500;
  return fake_nvml_status;
}
#endif
int nvmlDeviceGetMemoryInfo(void* device, Memory* value) {
  *value = {80'000'000'000, 0, is_first(device) ? 10'300'000'000ULL : 5'000'000'000ULL};
  return fake_nvml_status;
}
// NOLINTEND(readability-identifier-naming)

}  // extern "C"
