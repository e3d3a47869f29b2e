// The founder, until it is settled whether voters vote or claim.
#include "tests/unit/rendezvous/succession/claims_kit.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

using namespace claims_story;

const Lines survey_of_two{"n1: do you see the proof?", "n2: do you see the proof?"};

/// The record goes to its voters, which vote.
const Lines voted{
    "lead for ever", "1 voters", "n1: leading 1 with 1? whole", "n2: leading 1 with 1? whole"};

/// Or claim.
const Lines claimed_by_three{
    "lead until 3500", "1 voters", "n1: leading 1 with 1? whole", "n2: leading 1 with 1? whole"};

/// The same after a job that was founded in epoch 1.
const Lines voted_later{
    "lead for ever", "1 voters", "n1: leading 2 with 1? whole", "n2: leading 2 with 1? whole"};

/// And its proof is taken away again.
Lines closed_and(const Lines& then) {
  Lines lines{"close the folder"};
  lines.insert(lines.end(), then.begin(), then.end());
  return lines;
}
Lines closed_and_voted() {
  return closed_and(voted);
}

bool votes(const ClaimsStory& story) {
  return story.succession.knowledge() && !story.known().record.voters.claim && !story.known().place;
}

/// Whose record of n0 to n2 is decided by n1's vote.
std::string reason_once_decided(ClaimsStory story) {
  (void)story.is_followed(1, 1, story.now);
  return story.succession.reason();
}

TEST_CASE("succession: with a folder, a founder opens it when it starts") {
  Succession founder({.self = voter(0), .endpoint = "n0", .founds = true, .folder = folder});
  std::vector<SuccessionAction> actions;
  founder.start({}, actions);
  REQUIRE(actions.size() == 4);
  CHECK(actions[3] == SuccessionAction(FolderTask(OpenFolder{{voter(0).agent}})));
  Succession member({.self = voter(1), .endpoint = "n0", .folder = folder});
  actions.clear();
  member.start({}, actions);
  CHECK(actions.empty());
}

TEST_CASE("succession: where all voters see the folder of the founder, they claim") {
  ClaimsStory story(0);
  CHECK(story.opens().empty());
  CHECK(story.proposes({0, 1, 2}, 1) == survey_of_two);
  CHECK_FALSE(story.succession.knowledge());
  CHECK(story.is_surveyed(2).empty());
  CHECK(story.at(500) == Lines{"n1: do you see the proof?"});  // it may have got lost
  CHECK(story.is_surveyed(1) == claimed_by_three);
  CHECK(story.known().record.voters.claim);
  CHECK(story.known().place == Place{{voter(0).agent}, 1});
}

TEST_CASE("succession: the first place is the one after what earlier jobs have claimed") {
  ClaimsStory story(0);
  (void)story.opens("", 4, true);
  (void)story.proposes({0, 1}, 1);
  (void)story.is_surveyed(1);
  CHECK(story.known().place == Place{{voter(0).agent}, 5});
}

TEST_CASE("succession: a founder alone asks nobody") {
  ClaimsStory story(0);
  (void)story.opens();
  CHECK(story.proposes({0}, 1).back() == "claim 1 with 1 for n0");
}

TEST_CASE("succession: a folder that is not usable is no reason to wait, and is named") {
  ClaimsStory story(0);
  CHECK(story.opens("/shared/claims cannot be made: Permission denied").empty());
  CHECK(story.proposes({0, 1, 2}, 1) == closed_and_voted());
  CHECK(votes(story));
  CHECK(reason_once_decided(story) ==
        "n0 leads; if it is lost, 2 voters elect another, since /shared/claims cannot be made: "
        "Permission denied");
}

TEST_CASE("succession: a folder that hangs is waited for until nodes count as lost, no longer") {
  ClaimsStory story(0);
  CHECK(story.proposes({0, 1, 2}, 1).empty());
  CHECK(story.at(3'999).empty());
  CHECK(story.succession.next_deadline() == Instant{4'499});
  CHECK(story.at(4'499) == voted);
  CHECK(votes(story));
  CHECK(reason_once_decided(story) ==
        "n0 leads; if it is lost, 2 voters elect another, since /shared/claims does not answer");
  const Succession before = story.succession;
  CHECK(story.opens("", 7, true) == Lines{"close the folder"});  // too late
  CHECK(votes(story));
  CHECK(story.known() == before.knowledge().value());
}

TEST_CASE("succession: a witness votes, and is not asked where only members may claim") {
  ClaimsStory story(0);
  (void)story.opens();
  Generation record = record_with({0, 1}, 1);
  record.voters.all.push_back(voter(7));
  CHECK(story.meets(Propose{record}) == Lines{"n1: do you see the proof?"});
}

TEST_CASE("succession: a folder that answers late, but in time, is surveyed") {
  ClaimsStory story(0);
  CHECK(story.proposes({0, 1, 2}, 1).empty());
  story.now = Instant{3'900};
  CHECK(story.opens() == survey_of_two);
}

TEST_CASE("succession: where one voter does not see the folder, they vote, and it is named") {
  ClaimsStory story(0);
  (void)story.opens();
  (void)story.proposes({0, 1, 2}, 1);
  CHECK(story.is_surveyed(2, false) == closed_and_voted());
  CHECK(votes(story));
  CHECK(reason_once_decided(story) ==
        "n0 leads; if it is lost, 2 voters elect another, since n2 does not see /shared/claims");
}

TEST_CASE("succession: where one voter does not answer, they vote after half the time to a loss") {
  ClaimsStory story(0);
  (void)story.opens();
  (void)story.proposes({0, 1, 2}, 1);
  (void)story.is_surveyed(1);
  CHECK(story.at(1'999) == Lines{"n2: do you see the proof?"});
  CHECK(story.at(2'499).back() == "n2: leading 1 with 1? whole");
  CHECK(votes(story));
  CHECK(
      reason_once_decided(story) ==
      "n0 leads; if it is lost, 2 voters elect another, since n2 has not answered whether it sees "
      "/shared/claims");
}

TEST_CASE("succession: an answer about another founder's proof does not count") {
  ClaimsStory story(0);
  (void)story.opens();
  (void)story.proposes({0, 1}, 1);
  CHECK(story.hears(SurveyAnswer{voter(1).agent, {99}, true}).empty());
  CHECK(story.hears(SurveyAnswer{voter(1).agent, {99}, false}).empty());
  CHECK_FALSE(story.succession.knowledge());
}

TEST_CASE("succession: a proposal that changes during the survey is surveyed anew") {
  ClaimsStory story(0);
  (void)story.opens();
  (void)story.proposes({0, 1, 2}, 1);
  (void)story.is_surveyed(2);
  CHECK(story.proposes({0, 1, 3}, 2) ==
        Lines{"n1: do you see the proof?", "n3: do you see the proof?"});
  CHECK(story.is_surveyed(1).empty());
  CHECK(story.is_surveyed(3).at(2) == "n1: leading 1 with 2? whole");
  CHECK(story.known().place == Place{{voter(0).agent}, 1});
}

/// Whose folder another job has used up to place 4, and not all of whose voters see it.
ClaimsStory barring() {
  ClaimsStory story(0);
  (void)story.opens("", 4, true);
  (void)story.proposes({0, 1, 2}, 1);
  (void)story.is_surveyed(1, false);
  return story;
}

SuccessionEvent bar_answer(std::string why = "", std::optional<Knowledge> taken = {}) {
  return FolderAnswer(
      PlaceClaimed{{Epoch{1}, GenerationNumber{1}}, std::move(why), std::move(taken)});
}

TEST_CASE("succession: who votes takes the next place of a job that was not over, alone") {
  ClaimsStory story(0);
  (void)story.opens("", 4, true);
  (void)story.proposes({0, 1, 2}, 1);
  CHECK(story.is_surveyed(1, false) == Lines{"claim 5 with 1 for n0"});
  (void)story.at(3'999);
  CHECK_FALSE(story.succession.knowledge());
  CHECK(story.meets(bar_answer("not reached")) == closed_and(voted_later));
  CHECK(votes(story));
}

TEST_CASE("succession: who cannot take it in time goes on, since nobody else can, and votes") {
  ClaimsStory hangs = barring();
  CHECK(hangs.at(4'000).back() == voted_later.back());
  CHECK(votes(hangs));
  ClaimsStory free = barring();
  CHECK(free.meets(bar_answer()) == closed_and(voted_later));
  CHECK(votes(free));
}

TEST_CASE("succession: where that place is taken, the job before lives: the founder gives way") {
  ClaimsStory story = barring();
  CHECK(story.meets(bar_answer("", claimed_in(9, claim_of({5, 6}, 5)))) ==
        Lines{"step down", "unfollow"});
  CHECK_FALSE(story.succession.lead_end());
  CHECK_FALSE(story.succession.knowledge());
}

TEST_CASE("succession: that place is not its own where another job's first record has it") {
  ClaimsStory story = barring();
  Knowledge there = of_job(voter(5).agent, claim_of({5, 6}));
  there.place->number = 5;
  CHECK(story.meets(bar_answer("", there)) == Lines{"step down", "unfollow"});
}

TEST_CASE("succession: that its place was taken does not matter to who votes since it waited") {
  ClaimsStory story = barring();
  (void)story.at(4'000);
  (void)story.is_followed(1, 1, Instant{4'000});
  const Knowledge decided = story.known();
  (void)story.meets(bar_answer("", claimed_in(9, claim_of({5, 6}, 5))));
  CHECK(story.succession.state() == Succession::State::leading);
  CHECK(story.known() == decided);  // V3: a voter forgets nothing
}

TEST_CASE("succession: a proposal that changes while that place is claimed is the one voted on") {
  ClaimsStory story = barring();
  CHECK(story.proposes({0, 1, 3}, 2).empty());
  CHECK(story.meets(bar_answer()) == Lines{"close the folder",
                                           "lead for ever",
                                           "1 voters",
                                           "n1: leading 2 with 2? whole",
                                           "n3: leading 2 with 2? whole"});
  CHECK(votes(story));
}

TEST_CASE("succession: V6 a founder that gave way proposes nothing when its folder answers") {
  ClaimsStory story(0);
  (void)story.proposes({0, 1}, 1);
  (void)story.meets(HeardOf{leader_on(2, 3)});
  CHECK(story.opens().empty());
  CHECK(story.is_surveyed(1).empty());
  CHECK_FALSE(story.succession.knowledge());
}

TEST_CASE("succession: who is asked looks into the folder, and says what it saw") {
  ClaimsStory story(2);
  CHECK(story.hears(SurveyRequest{"n0", {1}}) == Lines{"look for proof 1"});
  CHECK(story.meets(FolderAnswer(ProofSought{{1}, true})) == Lines{"n0: sees proof 1"});
  CHECK(story.hears(SurveyRequest{"n7", {8}}) == Lines{"look for proof 8"});
  CHECK(story.meets(FolderAnswer(ProofSought{{8}, false})) == Lines{"n7: does not see proof 8"});
  SuccessionStory without_folder(2);
  CHECK(without_folder.hears(SurveyRequest{"n0", {1}}) == Lines{"n0: does not see proof 1"});
}

}  // namespace
}  // namespace ddprun
