#include "tests/sim/leases.hpp"

#include <fmt/format.h>

namespace ddprun::sim {

std::string Leases::leads(Instant now, const Reign& reign, Instant end) {
  const auto [lead, is_new] = leads_.emplace(reign, end);
  const bool sooner = end < lead->second;
  lead->second = end;
  if (!sooner) return {};
  for (const auto& [host, lease] : held_) {
    if (lease.by != reign) continue;
    if (std::string broken = check(now, host, lease); !broken.empty()) return broken;
  }
  return {};
}

std::string Leases::holds(Instant now, int host, const Reign& by, Instant end) {
  const Lease lease{by, end};
  held_[host] = lease;
  return check(now, host, lease);
}

std::string Leases::check(Instant now, int host, const Lease& lease) const {
  const auto lead = leads_.find(lease.by);
  if (lead == leads_.end() || lease.end <= now || lease.end <= lead->second + drift_) return {};
  return fmt::format("S13: a lease outlives the lead by {} ms, on n{}",
                     (lease.end - std::max(now, lead->second)).count,
                     host);
}

}  // namespace ddprun::sim
