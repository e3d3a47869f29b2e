#include "worker/ranks/usable_device.hpp"

#include "ddprun/error.hpp"

namespace ddprun::worker {

void require_device(const torch::Device& device, const char* who) {
  try {
    const c10::DeviceGuard is_there(device);
  } catch (const c10::Error& error) {
    throw Error(
        text(who, " cannot use the device ", device.str(), ": ", error.what_without_backtrace()));
  }
}

}  // namespace ddprun::worker
