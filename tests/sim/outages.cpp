#include "tests/sim/outages.hpp"

#include <algorithm>
#include <iterator>

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

bool Outages::loses_head(Instant from, Instant until) const {
  for (auto lead = leads_.begin(); lead != leads_.end(); ++lead) {
    const auto next = std::next(lead);
    const Instant begin = std::max(lead->from, from);
    const Instant end = next == leads_.end() ? until : std::min(next->from, until);
    const bool led_before = lead->from <= from;
    if (led_before && !is_well(lead->host, from, from + Millis{1})) continue;  // it was lost before
    if (begin < end && !is_well(lead->host, begin, end)) return true;
  }
  return false;
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
