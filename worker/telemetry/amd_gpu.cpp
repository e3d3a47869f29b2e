#include "worker/telemetry/amd_gpu.hpp"

#include "ddprun/error.hpp"

#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <string_view>

namespace ddprun::worker {
namespace {

/// The whole number in `file`. Without one from 0 to `value_max`, says so in `problem`.
std::optional<std::int64_t> whole_number_in(const std::filesystem::path& file,
                                            std::int64_t value_max,
                                            std::string& problem) {
  std::array<char, 32> bytes{};
  std::ifstream stream(file);
  stream.read(bytes.data(), bytes.size());
  const auto count = static_cast<std::size_t>(stream.gcount());
  const std::string_view content(bytes.data(), count);
  const std::string_view digits = content.substr(0, content.find('\n'));
  std::int64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, number);
  const bool is_number = failure == std::errc{} && stop == end;
  if (is_number && number >= 0 && number <= value_max) return number;
  if (!problem.empty()) problem += "; ";
  problem += content.empty() ? text("cannot read ", file.native())
                             : text(file.native(), " is \"", digits, "\", no number");
  return std::nullopt;
}

/// Of the sensor that has it: amdgpu has one of the two, by generation of the GPU.
std::filesystem::path power_file(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::directory_iterator each(folder / "hwmon", error);
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    for (const char* const name : {"power1_average", "power1_input"}) {
      std::error_code unreadable;
      if (std::filesystem::exists(each->path() / name, unreadable)) return each->path() / name;
    }
  }
  return folder / "hwmon/hwmon*/power1_average";
}

}  // namespace

GpuReader open_amd_gpu(const std::filesystem::path& folder) {
  return [folder, power = power_file(folder)] {
    constexpr std::int64_t microwatts_max = 100'000'000'000;
    constexpr std::int64_t bytes_max = std::numeric_limits<std::int64_t>::max();
    GpuReading reading;
    reading.busy_percent = whole_number_in(folder / "gpu_busy_percent", 100, reading.problem);
    const auto microwatts = whole_number_in(power, microwatts_max, reading.problem);
    if (microwatts) reading.watts = static_cast<double>(*microwatts) / 1e6;
    reading.memory_bytes =
        whole_number_in(folder / "mem_info_vram_used", bytes_max, reading.problem);
    return reading;
  };
}

}  // namespace ddprun::worker
