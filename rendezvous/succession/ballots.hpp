// The messages between the voters of a job and the coordinator that they elect.
//
// Each message is independent: it may be lost, come late, twice, or after a later one. A process
// that needs an answer asks again. A time in a message is the asker's own; it comes back unchanged
// and is compared only with the clock that it was read from.
#pragma once

#include "rendezvous/generations/generation.hpp"
#include "rendezvous/generations/voters.hpp"
#include "rendezvous/units.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

/// A coordinator, as the others know it.
struct Leader {
  AgentId agent = 0;
  std::string host;
  std::string address;
  Epoch epoch;        ///< Grows also while it leads.
  Epoch reign;        ///< In which it began to lead.
  Founding founding;  ///< Of its job.
  friend bool operator==(const Leader&, const Leader&) = default;

  /// What it was told and has said goes on: it has not lost the lead meanwhile.
  [[nodiscard]] bool continues(const Leader& other) const {
    return agent == other.agent && reign == other.reign;
  }
};

/// The order of records: by who asked for it, then by number.
struct RecordId {
  Epoch accepted;  ///< Of the coordinator that had it accepted, which may be a later one.
  GenerationNumber number;
  auto operator<=>(const RecordId&) const = default;
};

/// Whom to ask when this leader is lost, which may have founded its job only now. No leader is
/// named where the folder told of the voters.
struct VotersChanged {
  Voters voters;
  RecordId record;  ///< That names them. What is said of an older one may come later.
  Leader leader;
  friend bool operator==(const VotersChanged&, const VotersChanged&) = default;
};

/// Nobody can be elected any more once one of these others is dead, as far as the succession knows.
struct NeededVoters {
  std::set<AgentId> agents;
  friend bool operator==(const NeededVoters&, const NeededVoters&) = default;
};

/// A leader has told the voters of that record: so it is decided.
struct RecordDecided {
  RecordId record;
  friend bool operator==(const RecordDecided&, const RecordDecided&) = default;
};

/// A folder for claims, by the proof in it: the founder's random number (claims.hpp).
struct FolderId {
  std::uint64_t proof = 0;
  auto operator<=>(const FolderId&) const = default;
};

/// Where a record is claimed (claims.hpp).
struct Place {
  FolderId folder;
  std::int64_t number = 0;  ///< From 1.
  friend bool operator==(const Place&, const Place&) = default;
};

/// A record as a voter has it.
struct Knowledge {
  Generation record;
  Epoch accepted;
  Voters before;  ///< Of the last decided record before it: they decide too, where voters vote.
  bool decided = false;
  std::optional<Place> place;  ///< Where voters claim.
  friend bool operator==(const Knowledge&, const Knowledge&) = default;

  [[nodiscard]] RecordId id() const { return {accepted, record.number}; }

  /// The newest place that it knows to be claimed; 0: none.
  [[nodiscard]] std::int64_t claimed() const {
    return place ? place->number - (decided ? 0 : 1) : 0;
  }
};

/// A leader has said in that epoch that it leads no more; 0: none has.
struct Resignation {
  AgentId leader = 0;
  Epoch epoch;
  friend bool operator==(const Resignation&, const Resignation&) = default;
};
struct VoteRequest {
  Voter candidate;
  Epoch epoch;
  Instant sent;
  RecordId record;               ///< The newest one that the candidate has,
  std::vector<Voters> electors;  ///< and those who elect with it: some may not have heard of it.
  Founding founding;             ///< Of the job.
  Resignation resigned;          ///< As the candidate was told.
  friend bool operator==(const VoteRequest&, const VoteRequest&) = default;
};
/// Also the promise to elect nobody else for a lease.
struct Vote {
  AgentId voter = 0;
  Epoch epoch;
  Instant sent;           ///< Of the request.
  RecordId decided = {};  ///< The newest record, if this voter knows that it is decided.
  friend bool operator==(const Vote&, const Vote&) = default;
};
/// To a candidate or a leader of an epoch that is too low, or of a job that does not stand.
struct Refusal {
  AgentId voter = 0;
  Epoch epoch;                   ///< The highest one that it knows of.
  std::optional<Leader> leader;  ///< Whom it follows, of another job or after a newer claim.
  friend bool operator==(const Refusal&, const Refusal&) = default;
};
/// The candidate was not elected and will not be in that epoch.
struct Release {
  AgentId candidate = 0;
  Epoch epoch;
  friend bool operator==(const Release&, const Release&) = default;
};
/// Said again and again to all voters: by it they hear that the leader lives.
struct Leading {
  Leader leader;
  Instant sent;
  RecordId record;
  bool decided = false;
  std::int64_t claimed = 0;        ///< The newest place that is; 0 where voters vote.
  std::optional<Knowledge> whole;  ///< The record, for those who have not accepted it.
  friend bool operator==(const Leading&, const Leading&) = default;
};
/// The answer: it has accepted the record, and elects nobody for a lease.
struct Following {
  AgentId voter = 0;
  Epoch epoch;
  Instant sent;  ///< Of what it answers.
  RecordId record;
  friend bool operator==(const Following&, const Following&) = default;
};
/// The answer of a leader that has stepped down meanwhile: what was heard of it came late. Also a
/// leader's last word when it resigns, and no worker lives: then nothing binds any more.
struct SteppedDown {
  AgentId leader = 0;
  Epoch epoch;            ///< Of what it answers, or in which it leads.
  Millis binds;           ///< All that was promised to it ends so long from now, at most.
  AgentId successor = 0;  ///< Who is to stand at once; 0: the leader did not resign.
  Legacy legacy = {};     ///< No more than `gone_max` are gone.
  static constexpr std::size_t gone_max = 1'000;
  static constexpr int ready_max = 1'000'000;
  friend bool operator==(const SteppedDown&, const SteppedDown&) = default;
};
/// The founder asks whether this voter sees its proof, before there is a record.
struct SurveyRequest {
  std::string address;  ///< For the answer.
  FolderId folder;
  friend bool operator==(const SurveyRequest&, const SurveyRequest&) = default;
};
struct SurveyAnswer {
  AgentId voter = 0;
  FolderId folder;
  bool sees = false;
  friend bool operator==(const SurveyAnswer&, const SurveyAnswer&) = default;
};
using Ballot = std::variant<VoteRequest,
                            Vote,
                            Refusal,
                            Release,
                            Leading,
                            Following,
                            SteppedDown,
                            SurveyRequest,
                            SurveyAnswer>;

}  // namespace ddprun
