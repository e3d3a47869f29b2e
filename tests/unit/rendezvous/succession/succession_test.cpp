#include "tests/unit/rendezvous/succession/succession_kit.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace ddprun {
namespace {

using namespace succession_story;

TEST_CASE("succession: two nodes cannot outlive the head, and the reason says so") {
  CHECK(
      following(2).succession.reason() ==
      "n0 leads; its loss ends the job unless ddprun is started there again: 1 of 2 voters cannot "
      "elect another");
}

TEST_CASE("succession: a voter that was held up gives a leader time to be heard") {
  SuccessionStory story = following();
  CHECK(story.at(9'000).empty());
  CHECK(story.succession.next_deadline() == Instant{10'000});
  CHECK(story.at(10'000).front() == "unfollow");
}

// The whole table: in which states which events do something. An empty cell must change nothing.
enum class Role { looking, following, standing, leading, founding, finished };
constexpr std::array every_role{
    Role::looking, Role::following, Role::standing, Role::leading, Role::founding, Role::finished};

SuccessionStory succession_in(Role state) {
  if (state == Role::looking) return SuccessionStory();
  if (state == Role::following) return following();
  if (state == Role::standing) return standing();
  if (state == Role::leading) return leading();
  if (state == Role::founding) return SuccessionStory(0);
  SuccessionStory story = following();
  (void)story.meets(JobOver{});
  return story;
}

struct RoleRow {
  const char* name;
  SuccessionEvent event;
  std::map<Role, std::string> first;  // action, "" for none though something changes
};

std::vector<RoleRow> every_role_event() {
  const VoteRequest request{
      voter(2), Epoch{9}, {}, record_of(3).id(), {record_of(3).record.voters}};
  return {
      {"called",
       Called{{4}, Epoch{}},
       {{Role::looking, "turn away to nobody"},
        {Role::following, "turn away to n0"},
        {Role::standing, "turn away to nobody"},
        {Role::leading, "admit"},
        {Role::founding, "admit"},
        {Role::finished, "turn away to n0"}}},
      {"heard of",
       HeardOf{leader_on(3, 6)},
       {{Role::looking, "follow n3"},
        {Role::following, "follow n3"},
        {Role::founding, "step down"}}},
      {"asked",
       BallotArrived{request},
       {{Role::looking, "n2: refuse 0"},
        {Role::following, "n2: refuse 1"},
        {Role::standing, "n2: refuse 2"},
        {Role::leading, "n2: refuse 2"},
        {Role::founding, "step down"}}},
      {"vote",
       BallotArrived{Vote{voter(2).agent, Epoch{2}, Instant{3'000}}},
       {{Role::standing, "take lead, inheriting"}}},
      {"refusal",
       BallotArrived{Refusal{voter(2).agent, Epoch{6}}},
       {{Role::looking, ""},
        {Role::following, ""},
        {Role::standing, ""},
        {Role::leading, ""},
        {Role::founding, ""}}},
      {"release", BallotArrived{Release{voter(2).agent, Epoch{6}}}, {{Role::following, ""}}},
      {"leading",
       BallotArrived{Leading{leader_on(2, 6), {}, record_of(3).id(), true, 0, {}}},
       {{Role::looking, "follow n2"},
        {Role::following, "follow n2"},
        {Role::standing, "n0: release 2"},
        {Role::leading, "n2: refuse 2"},
        {Role::founding, "step down"}}},
      {"following",
       BallotArrived{Following{voter(2).agent, Epoch{2}, Instant{3'100}, record_of(3).id()}},
       {{Role::leading, "lead until 6100"}, {Role::founding, ""}}},
      {"workers started",
       WorkersStarted{},
       {{Role::looking, ""},
        {Role::following, ""},
        {Role::standing, ""},
        {Role::leading, ""},
        {Role::founding, ""},
        {Role::finished, ""}}},
      {"workers gone", WorkersGone{}, {}},
      {"propose",
       Propose{record_of(3, 2).record},
       {{Role::leading, "lead until 6000"}, {Role::founding, "lead for ever"}}},
      {"job over",
       JobOver{},
       {{Role::looking, ""},
        {Role::following, ""},
        {Role::standing, ""},
        {Role::leading, ""},
        {Role::founding, ""}}},
      {"leader answered", LeaderAnswered{}, {}},
      {"record decided", RecordDecided{record_of(3).id()}, {}},
  };
}

TEST_CASE("succession: every event in every state is answered as listed, or changes nothing") {
  for (const RoleRow& row : every_role_event()) {
    for (const Role state : every_role) {
      INFO(row.name, " in state ", static_cast<int>(state));
      SuccessionStory story = succession_in(state);
      const Succession before = story.succession;
      const Lines answer = story.meets(row.event);
      const auto expected = row.first.find(state);
      const bool listed = expected != row.first.end();
      CHECK((answer.empty() ? std::string() : answer.front()) ==
            (listed ? expected->second : std::string()));
      if (!listed) CHECK(story.succession == before);
    }
  }
}

}  // namespace
}  // namespace ddprun
