// What the tests of the succession where voters claim share; n0 has founded the job, whose proof is
// its agent's number, 1.
#pragma once

#include "tests/unit/rendezvous/succession/succession_kit.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace ddprun::claims_story {

using namespace succession_story;
using Lines = succession_story::Lines;

inline const std::string folder = "/shared/claims";

/// A generation of these nodes, as the coordinator wants it.
inline Generation record_with(std::initializer_list<int> nodes, std::int64_t number) {
  Generation record;
  record.number = GenerationNumber{number};
  for (const int node : nodes) {
    Member member;
    member.offer.node = NodeId{node};
    member.offer.host = voter(node).host;
    member.offer.agent = voter(node).agent;
    member.first_rank = Rank{static_cast<int>(record.members.size())};
    record.members.push_back(member);
    record.voters.all.push_back(voter(node));
  }
  return record;
}

/// Claimed by the first of these nodes.
inline Knowledge claim_of(std::initializer_list<int> nodes, std::int64_t place = 1) {
  Knowledge known;
  known.record = record_with(nodes, place);
  known.record.epoch = known.accepted = Epoch{1};
  known.record.voters.head = known.record.voters.all.front().agent;
  known.record.voters.claim = true;
  known.before = known.record.voters;
  known.decided = true;
  known.place = Place{{voter(0).agent}, place};
  return known;
}
inline Knowledge undecided(Knowledge known) {
  known.decided = false;
  return known;
}
/// Another's, who gathered in this epoch.
inline Knowledge claimed_in(std::int64_t epoch, Knowledge known) {
  known.record.epoch = known.accepted = Epoch{epoch};
  return known;
}
inline Knowledge of_job_founded(const Founding& founding, Knowledge known) {
  known.record.founding = founding;
  return known;
}
/// Of another job, which this founder has begun.
inline Knowledge of_job(AgentId founder, Knowledge known) {
  known.place->folder = {founder};
  return known;
}

/// In which this node gathers first; the low bits are its agent's.
inline std::int64_t first_epoch(int node) {
  return 65'536 + node + 1;
}

struct ClaimsStory : SuccessionStory {
  explicit ClaimsStory(int node = 1, int nodes_min = 1)
      : SuccessionStory(node, folder, nodes_min) {}

  Lines opens(std::string why = "", std::int64_t newest = 0, bool in_use = false) {
    return meets(FolderAnswer(FolderOpened{std::move(why), newest, in_use}));
  }
  Lines proposes(std::initializer_list<int> nodes, std::int64_t number) {
    return meets(Propose{record_with(nodes, number)});
  }
  Lines is_surveyed(int node, bool sees = true) {
    return hears(SurveyAnswer{voter(node).agent, {voter(0).agent}, sees});
  }
  Lines reads(const std::optional<Knowledge>& newest) {
    return meets(FolderAnswer(ClaimsRead{newest ? "" : "not reached", newest}));
  }
  Lines has_claimed() { return meets(FolderAnswer(PlaceClaimed{known_id(), "", std::nullopt})); }
  Lines has_not_reached() {
    return meets(FolderAnswer(PlaceClaimed{known_id(), "not reached", std::nullopt}));
  }
  /// The link was tried, and its answer may have got lost.
  Lines may_have_claimed() {
    return meets(FolderAnswer(PlaceClaimed{known_id(), "not reached", std::nullopt, true}));
  }
  Lines finds_taken(const Knowledge& by) {
    return meets(FolderAnswer(PlaceClaimed{known_id(), "", by}));
  }
  [[nodiscard]] RecordId known_id() const { return succession.knowledge()->id(); }
  [[nodiscard]] Knowledge known() const { return succession.knowledge().value(); }
};

/// n0, which has proposed generation 1 of n0 to n2 at time 0, and all of them see the folder.
inline ClaimsStory proposing() {
  ClaimsStory story(0);
  (void)story.opens();
  (void)story.proposes({0, 1, 2}, 1);
  (void)story.is_surveyed(1);
  (void)story.is_surveyed(2);
  return story;
}
/// It has claimed place 1 for it.
inline ClaimsStory claimed() {
  ClaimsStory story = proposing();
  (void)story.is_followed(1, 1, Instant{0});
  (void)story.is_followed(2, 1, Instant{0});
  (void)story.has_claimed();
  return story;
}
/// A voter of that claim, which follows n0 since time 0.
inline ClaimsStory follower(int node = 1, int nodes_min = 1) {
  ClaimsStory story(node, nodes_min);
  (void)story.is_led(leader_on(0, 1), claim_of({0, 1, 2}));
  return story;
}
/// It heard nobody, has found the claim in the folder, and gathers.
inline ClaimsStory gatherer(int node = 1, int nodes_min = 1) {
  ClaimsStory story = follower(node, nodes_min);
  (void)story.at(story.succession.next_deadline()->ms);
  (void)story.reads(claim_of({0, 1, 2}));
  return story;
}

}  // namespace ddprun::claims_story
