#include "tests/sim/outages.hpp"

#include <algorithm>

namespace ddprun::sim {

void Outages::begins(int host, Instant when) {
  for (Outage& each : at(host)) {
    if (each.until == unknown) each.until = when;
  }
}

bool Outages::is_well(int host, Instant from, Instant until) const {
  return std::ranges::none_of(of_[static_cast<std::size_t>(host)], [&](const Outage& each) {
    return each.from < until && each.until > from;
  });
}

std::vector<Instant> Outages::ends(Instant since) const {
  std::vector<Instant> all{since};
  for (const auto& each : of_) {
    for (const Outage& outage : each) {
      if (outage.until > since && outage.until < unknown) all.push_back(outage.until);
    }
  }
  return all;
}

}  // namespace ddprun::sim
