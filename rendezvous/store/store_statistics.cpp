#include "rendezvous/store/store_statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

std::string counted_text(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace

void StoreStatistics::on_connected() {
  ++connected_so_far_;
  connected_most_ = std::max(connected_most_, ++connected_);
}

void StoreStatistics::on_dialect(StoreDialect before, StoreDialect now) {
  if (before == now) return;
  if (before != StoreDialect::unknown) --of_dialect_[static_cast<std::size_t>(before)];
  ++of_dialect_[static_cast<std::size_t>(now)];
}

std::string StoreStatistics::text(std::size_t key_count,
                                  std::size_t bytes,
                                  std::size_t bytes_max) const {
  constexpr double mib = 1024 * 1024;
  const auto of = [&](StoreDialect dialect) {
    return of_dialect_[static_cast<std::size_t>(dialect)];
  };
  std::string text = fmt::format(
      "{}, {} at most, {} so far: {} of PyTorch up to 2.0, {} of 2.1, {} of 2.2 and later; {} "
      "refused; {}, {:.1f} of {:.0f} MiB taken; {}",
      counted_text(connected_, "connection"),
      connected_most_,
      connected_so_far_,
      of(StoreDialect::legacy),
      of(StoreDialect::torch_2_1),
      of(StoreDialect::validated),
      refused_,
      counted_text(key_count, "key"),
      static_cast<double>(bytes) / mib,
      static_cast<double>(bytes_max) / mib,
      counted_text(std::accumulate(requests_.begin(), requests_.end(), std::uint64_t{0}),
                   "request"));
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] > 0)
      kinds.push_back(fmt::format("{} {}", requests_[i], store_operation_names[i]));
  }
  if (!kinds.empty()) text += fmt::format(": {}", fmt::join(kinds, ", "));
  return text;
}

}  // namespace ddprun
