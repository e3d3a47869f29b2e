// The names of a job's snapshots, which workers write and launchers read: "snapshot.pt" is a link
// to the newest of the files "snapshot.pt.GENERATION.STEP". A header alone, since workers link
// nothing else of this folder. Pure.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace ddprun {

struct SnapshotNumbers {
  static constexpr std::int64_t number_max = std::int64_t{1} << 53;  ///< As snapshots hold them.

  std::int64_t generation = 0;
  std::int64_t step = 0;
  friend bool operator==(const SnapshotNumbers&, const SnapshotNumbers&) = default;
};

/// The name of the file beside the link of that name.
[[nodiscard]] inline std::string snapshot_name(const std::string& link_name,
                                               const SnapshotNumbers& numbers) {
  return link_name + "." + std::to_string(numbers.generation) + "." + std::to_string(numbers.step);
}

/// The numbers in such a name; nothing for any other name.
[[nodiscard]] inline std::optional<SnapshotNumbers> parse_snapshot_name(std::string_view link_name,
                                                                        std::string_view name) {
  const auto parse = [](std::string_view digits) -> std::optional<std::int64_t> {
    std::int64_t number = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, number);
    const bool is_number = failure == std::errc{} && stop == end && number >= 0;
    return is_number && number <= SnapshotNumbers::number_max ? std::optional(number)
                                                              : std::nullopt;
  };
  if (!name.starts_with(link_name)) return std::nullopt;
  name.remove_prefix(link_name.size());
  const std::size_t dot = name.find('.', 1);
  if (!name.starts_with('.') || dot == std::string_view::npos) return std::nullopt;
  const auto generation = parse(name.substr(1, dot - 1));
  const auto step = parse(name.substr(dot + 1));
  if (!generation || !step) return std::nullopt;
  return SnapshotNumbers{*generation, *step};
}

}  // namespace ddprun
