#include "tests/sim/outages.hpp"

#include <algorithm>

namespace ddprun::sim {

void Outages::begins(int host, Instant when) {
  for (Outage& each : at(host)) {
    if (each.until == unknown) each.until = when;
  }
  leads_no_longer(host, when);
}

bool Outages::is_well(int host, Instant from, Instant until) const {
  return std::ranges::none_of(of_[static_cast<std::size_t>(host)], [&](const Outage& each) {
    return each.from < until && each.until > from;
  });
}

void Outages::leads_no_longer(int host, Instant when) {
  for (Lead& each : leads_) {
    if (each.host == host && each.until == never) each.until = when;
  }
}

std::optional<Instant> Outages::first_wrong(const Lead& lead) const {
  std::optional<Instant> first;
  for (const Outage& each : of_[static_cast<std::size_t>(lead.host)]) {
    if (each.from >= lead.until || each.until <= lead.from) continue;
    const Instant begin = std::max(each.from, lead.from);
    first = first ? std::min(*first, begin) : begin;
  }
  return first;
}

std::vector<Instant> Outages::losses_of_head(Instant from, Instant until) const {
  std::vector<Instant> losses;
  for (const Lead& lead : leads_) {
    const std::optional<Instant> lost = first_wrong(lead);
    if (!lost || *lost <= from || *lost >= until) continue;
    const bool has_another = std::ranges::any_of(leads_, [&](const Lead& each) {
      return each.from <= *lost && each.until > *lost && is_well(each.host, *lost, until);
    });
    if (!has_another) losses.push_back(*lost);
  }
  return losses;
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
