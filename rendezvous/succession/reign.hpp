// The state of a process that exists only while it leads.
#pragma once

#include "rendezvous/generations/generation.hpp"
#include "rendezvous/generations/voters.hpp"
#include "rendezvous/succession/ballots.hpp"
#include "rendezvous/succession/lead.hpp"
#include "rendezvous/units.hpp"

#include <map>
#include <optional>
#include <string>

namespace ddprun {

struct Reign {
  Lead lead;
  Instant announce_at;
  Instant call_at;
  std::optional<Instant> name_silent_at;  // the voters of the newest record
  Voters base;                            // of the last decided record
  RecordId base_of;                       // if that is known
  std::map<AgentId, RecordId> accepted;   // the newest record of each voter
  std::optional<Generation> wanted;       // proposed before the inherited record was decided
  // Where voters claim:
  std::optional<Place> claimed;       // the newest place that is
  Instant accept_by;                  // then who has not accepted a record does not claim after it
  int beats_in_vain = 0;              // since nobody answers, and nothing is proposed
  std::string newer_head;             // where one listens that a voter has named; called once
  std::map<AgentId, Instant> rivals;  // of `base`, who gather after the same claim: since when
  friend bool operator==(const Reign&, const Reign&) = default;
};

}  // namespace ddprun
