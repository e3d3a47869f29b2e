// The devices among which one process splits its batches.
#pragma once

#include "ddprun/run.hpp"

#include <torch/torch.h>

#include <sstream>
#include <string>
#include <vector>

namespace ddprun::examples {

/// Those of `list`, "cuda:0,cuda:1"; all GPUs if it is empty. Throws UsageError unless they begin
/// with `first`, where the batches are.
inline std::vector<torch::Device> devices_in(const std::string& list, torch::Device first) {
  std::vector<torch::Device> devices;
  std::istringstream words(list);
  try {
    for (std::string word; std::getline(words, word, ',');) devices.emplace_back(word);
  } catch (const c10::Error& error) {
    throw worker::UsageError(
        worker::text("--devices is \"", list, "\": ", error.what_without_backtrace()));
  }
  const int gpus_count = list.empty() ? static_cast<int>(torch::cuda::device_count()) : 0;
  for (int i = 0; i < gpus_count; ++i) {
    devices.emplace_back(torch::kCUDA, static_cast<c10::DeviceIndex>(i));
  }
  if (devices.empty() || devices.front() != first) {
    throw worker::UsageError(worker::text("--devices is \"",
                                          list,
                                          "\"; give a list that begins with ",
                                          first,
                                          ", which is this rank's"));
  }
  return devices;
}

}  // namespace ddprun::examples
