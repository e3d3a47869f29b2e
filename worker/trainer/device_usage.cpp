#include "ddprun/device_usage.hpp"

#include "ddprun/collectives.hpp"
#include "ddprun/error.hpp"
#include "worker/telemetry/gpu_reader.hpp"
#include "worker/telemetry/gpu_sampler.hpp"
#include "worker/telemetry/process_memory.hpp"
#include "worker/torch_compat.hpp"
#include "worker/warning.hpp"

#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

namespace ddprun::worker {
namespace {

std::string gigabytes(std::int64_t bytes) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / 1e9 << " GB";
  return out.str();
}

std::string line_of(int rank, const Usage& usage) {
  std::string parts;
  const auto add = [&](const std::string& part) { parts += (parts.empty() ? "" : ", ") + part; };
  if (usage.memory_bytes) add("peak memory " + gigabytes(*usage.memory_bytes));
  if (usage.gpu_memory_bytes) add("GPU " + gigabytes(*usage.gpu_memory_bytes));
  if (usage.gpu_busy_percent) add(text(std::lround(*usage.gpu_busy_percent), " % busy"));
  if (usage.gpu_watts) add(text(std::lround(*usage.gpu_watts), " W"));
  return text("rank ", rank, ": ", parts);
}

}  // namespace

DeviceUsage::DeviceUsage(DeviceUsageOptions options) : options_(std::move(options)) {
  if (options_.read_every.count() < 1) {
    throw Error(text(
        "read_every of a DeviceUsage is ", options_.read_every.count(), " ms; give at least 1"));
  }
  if (!options_.say) options_.say = warn_on_stderr;
  if (!options_.warn) options_.warn = warn_on_stderr;
}

DeviceUsage::~DeviceUsage() = default;

void DeviceUsage::begin(Session& session) {
  if (!options_.curves.empty()) {
    const std::string folder = text("rank", session.context().rank);
    events_ = EventFile(options_.curves / folder, session.position().step + 1);
  }
  const torch::Device device = session.device();
  std::string address = options_.gpu;
  if (address.empty() && device.is_cuda()) address = gpu_address(device.index());
  try {
    if (!address.empty()) {
      sampler_ = std::make_unique<GpuSampler>(open_gpu(address, options_.sysfs, options_.nvml),
                                              options_.read_every);
    } else if (device.is_cuda()) {
      warn_once(session, "the runtime of CUDA or HIP does not tell its PCI address");
    }
  } catch (const Error& error) {
    warn_once(session, error.what());
  }
  forget_peak_memory();
  static_cast<void>(compat::take_peak_memory(device));
}

void DeviceUsage::finish_epoch(Session& session, const EpochReport& /*report*/) {
  static_cast<void>(tell(session));
}

Usage DeviceUsage::tell(Session& session) {
  const Usage usage = take(session);
  std::string lines;
  for (const std::string& line :
       gather_texts(line_of(session.context().rank, usage), session.group())) {
    lines += (lines.empty() ? "" : "\n") + line;
  }
  if (session.is_rank_0()) options_.say(lines);
  const auto write = [&](const char* tag, const auto& value) {
    if (value) events_.scalar(tag, static_cast<double>(*value), session.position().step + 1);
  };
  write("usage/memory_bytes", usage.memory_bytes);
  write("usage/gpu_memory_bytes", usage.gpu_memory_bytes);
  write("usage/gpu_busy_percent", usage.gpu_busy_percent);
  write("usage/gpu_watts", usage.gpu_watts);
  events_.flush();
  return usage;
}

Usage DeviceUsage::take(const Session& session) {
  Usage usage;
  usage.memory_bytes = peak_memory_bytes();
  forget_peak_memory();
  usage.gpu_memory_bytes = compat::take_peak_memory(session.device());
  if (!sampler_) return usage;
  const GpuReading reading = sampler_->sample();
  usage.gpu_busy_percent = reading.busy_percent;
  usage.gpu_watts = reading.watts;
  if (!usage.gpu_memory_bytes) usage.gpu_memory_bytes = reading.memory_bytes;
  if (!reading.problem.empty()) warn_once(session, reading.problem);
  return usage;
}

void DeviceUsage::warn_once(const Session& session, const std::string& problem) {
  if (std::exchange(has_warned_, true)) return;
  options_.warn(text("rank ", session.context().rank, " misses how its GPU is used: ", problem));
}

}  // namespace ddprun::worker
