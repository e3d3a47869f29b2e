// What has gone wrong with each host of a pretended job, and until when: by it is judged whether
// a job may have ended for want of nodes or of voters.
#pragma once

#include "rendezvous/units.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace ddprun::sim {

class Outages {
 public:
  explicit Outages(int hosts_count) : of_(static_cast<std::size_t>(hosts_count)) {}

  void strike(int host, Instant from, Instant until) { at(host).push_back({from, until}); }
  /// It begins, and what was wrong with it for an unknown time is over.
  void begins(int host, Instant when);

  /// It leads, or gathers voters to do so, until it says that it does no longer, or begins again.
  void leads(int host, Instant when) { leads_.push_back({host, when, never}); }
  void leads_no_longer(int host, Instant when);

  /// When those who were well had to find another head in that time: since something was wrong with
  /// one that led, and nobody led who was well.
  [[nodiscard]] std::vector<Instant> losses_of_head(Instant from, Instant until) const;

  /// Whether nothing was wrong with it in all that time.
  [[nodiscard]] bool is_well(int host, Instant from, Instant until) const;

  /// When things may have begun to be well: from `since` on.
  [[nodiscard]] std::vector<Instant> ends(Instant since) const;

  static constexpr Instant unknown{std::int64_t{1} << 60};
  static constexpr Instant never{(std::int64_t{1} << 60) + 1};  ///< Also if it begins again.

 private:
  struct Outage {
    Instant from;
    Instant until;
  };
  struct Lead {
    int host;
    Instant from;
    Instant until;
  };
  [[nodiscard]] std::optional<Instant> first_wrong(const Lead& lead) const;
  [[nodiscard]] std::vector<Outage>& at(int host) { return of_[static_cast<std::size_t>(host)]; }

  std::vector<std::vector<Outage>> of_;
  std::vector<Lead> leads_;
};

}  // namespace ddprun::sim
