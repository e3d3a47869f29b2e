// The lines for users about a participant; a repeated text is printed once.
#pragma once

#include "rendezvous/generations/founding.hpp"
#include "rendezvous/membership/roster.hpp"
#include "rendezvous/membership/uplink.hpp"
#include "rendezvous/succession/claims.hpp"

#include <set>
#include <string>

namespace ddprun {

/// Each returns a line, or nothing if it was printed already.
class ParticipantNotes {
 public:
  /// How many refusals are told within `refusals_for`, whatever they say.
  static constexpr int refusals_max = 20;
  static constexpr Millis refusals_for{10'000};

  explicit ParticipantNotes(std::string host) : host_(std::move(host)) {}

  /// It coordinates in place of the host `old`.
  [[nodiscard]] std::string inherits(const std::string& old) const;
  [[nodiscard]] std::string steps_down(bool had_founded) const;
  [[nodiscard]] std::string resigns() const;
  /// `reason` is the succession's.
  [[nodiscard]] std::string leads(const std::string& reason);
  [[nodiscard]] std::string silent(const Voter& voter) const;
  [[nodiscard]] std::string lease_ended(bool coordinates, bool witness) const;
  [[nodiscard]] static std::string shut_out(const ShutOut& shut_out);
  [[nodiscard]] std::string closed(Instant now, const CloseSession& close);
  [[nodiscard]] std::string kept(const MarkKept& kept) const;
  [[nodiscard]] std::string answered(const FolderAnswer& answer);

 private:
  std::string host_;
  std::string leads_said_;    // the newest
  std::string refusal_said_;  // the newest
  Instant refusals_from_;     // the first of those that are counted
  int refusals_count_ = 0;
  std::set<std::string> failures_said_;  // of claims, since the last that succeeded
};

}  // namespace ddprun
