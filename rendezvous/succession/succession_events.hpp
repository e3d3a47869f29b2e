// What a succession is told, and what it asks for.
#pragma once

#include "rendezvous/generations/founding.hpp"
#include "rendezvous/generations/generation.hpp"
#include "rendezvous/generations/voters.hpp"
#include "rendezvous/succession/ballots.hpp"
#include "rendezvous/succession/claims.hpp"
#include "rendezvous/succession/lead.hpp"
#include "rendezvous/units.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

struct BallotArrived {
  Ballot ballot;
};
/// A process has said hello in a session, with the highest epoch that it knows. Orphaned: its
/// leader listened here and none can be elected without that leader, or it was never admitted.
struct Called {
  SessionId session;
  Epoch knows;
  bool orphaned = false;
  Epoch mark = {};        ///< That was left at this host.
  std::string host = {};  ///< For people.
};
/// A message has named the leader.
struct HeardOf {
  Leader leader;
  /// The leader itself says so, at the address of another leader that this process followed: that
  /// other one is dead, since it would listen there.
  AgentId in_place_of = 0;
  bool orphaned = false;  ///< As of Called, of this process.
  friend bool operator==(const HeardOf&, const HeardOf&) = default;
};
/// The leader that is followed has extended this node's lease.
struct LeaderAnswered {};
struct WorkersStarted {};
struct WorkersGone {};
/// The job is over in this process, and everywhere if no process can go on elsewhere.
struct JobOver {
  bool everywhere = false;
};
struct SuccessionTimeout {};
using SuccessionEvent = std::variant<BallotArrived,
                                     Called,
                                     HeardOf,
                                     LeaderAnswered,
                                     RecordDecided,
                                     WorkersStarted,
                                     WorkersGone,
                                     Propose,
                                     HandOver,
                                     JobOver,
                                     FolderAnswer,
                                     MarkKept,
                                     SuccessionTimeout>;

struct SendBallot {
  std::string address;
  Ballot ballot;
  friend bool operator==(const SendBallot&, const SendBallot&) = default;
};
/// This process is the coordinator's from now on. With a record it inherits that generation.
struct TakeLead {
  Leader leader;
  std::optional<Generation> record;
  Instant old_head_heard;        ///< From then on the silence of the old one's node counts.
  std::optional<Legacy> legacy;  ///< The old head has handed it on.
  friend bool operator==(const TakeLead&, const TakeLead&) = default;
};
/// It is not any more: all sessions end.
struct StepDown {
  bool has_resigned = false;  ///< By HandOver.
  friend bool operator==(const StepDown&, const StepDown&) = default;
};
/// The node's own connection is to go to this leader.
struct Follow {
  Leader leader;
  friend bool operator==(const Follow&, const Follow&) = default;
};
/// It has no target: no leader is known.
struct Unfollow {
  friend bool operator==(const Unfollow&, const Unfollow&) = default;
};
/// For users: this voter has been silent for long, so it could not replace a lost leader.
struct VoterSilent {
  Voter voter;
  friend bool operator==(const VoterSilent&, const VoterSilent&) = default;
};
struct Admit {
  SessionId session;
  friend bool operator==(const Admit&, const Admit&) = default;
};
struct TurnAway {
  SessionId session;
  std::optional<Leader> leader;
  friend bool operator==(const TurnAway&, const TurnAway&) = default;
};
using SuccessionAction = std::variant<SendBallot,
                                      TakeLead,
                                      StepDown,
                                      LeadChanged,
                                      VotersChanged,
                                      NeededVoters,
                                      Decided,
                                      LeadKept,
                                      Follow,
                                      Unfollow,
                                      VoterSilent,
                                      Admit,
                                      TurnAway,
                                      FolderTask,
                                      KeepMark,
                                      DropMark,
                                      MarkFound>;

}  // namespace ddprun
