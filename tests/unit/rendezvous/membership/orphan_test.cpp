// Where nobody can be elected without the leader that was lost, and its place is taken by a process
// that was started anew: the job begins again.
#include "tests/unit/rendezvous/membership/uplink_kit.hpp"
#include "tests/unit/rendezvous/succession/succession_kit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ddprun {
namespace {

using succession_story::following;
using succession_story::leader_on;
using succession_story::record_of;
using succession_story::SuccessionStory;
using uplink_story::leader_at;
using uplink_story::UplinkStory;

/// The last hello that `uplink` has sent.
std::optional<Hello> last_hello(const std::vector<UplinkAction>& actions) {
  std::optional<Hello> last;
  for (const UplinkAction& action : actions) {
    const auto* send = std::get_if<SendUp>(&action);
    if (send != nullptr && std::holds_alternative<Hello>(send->message)) {
      last = std::get<Hello>(send->message);
    }
  }
  return last;
}

/// Its next connection to `door`; all others fail.
std::int64_t knocks_at(UplinkStory& story, const std::string& door) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    story.now = story.now + Millis{2'000};
    const std::vector<UplinkAction> actions = story.answers(Timeout{});
    const auto* made = actions.empty() ? nullptr : std::get_if<Connect>(&actions.back());
    if (made == nullptr) continue;
    if (made->address == door) return made->connection.value;
    (void)story.breaks(made->connection.value);
  }
  FAIL("no connection to ", door);
  return {};
}

/// What it says over the next connection to `door`, which leads to `peer`.
Hello hello_at(UplinkStory& story, const std::string& door, const std::string& peer) {
  const std::int64_t connection = knocks_at(story, door);
  return last_hello(story.answers(ConnectionUp{{connection}, peer})).value();
}

Hello hello_at(UplinkStory& story, const std::string& door) {
  return hello_at(story, door, door);
}

const std::string endpoint = "n0:1";

/// The leader n0 is the first of them.
Voters voters_of(int count) {
  Voters voters;
  voters.head = leader_at(0).agent;
  for (int node = 0; node < count; ++node) {
    voters.all.push_back(succession_story::voter(node));
    if (node == 0) voters.all.back().agent = voters.head;
  }
  return voters;
}

/// An agent that was led by n0, of so many voters, over the endpoint, until it was lost.
UplinkStory bereaved(int voters_count, bool had_answer) {
  UplinkStory story;
  story.voters = voters_of(voters_count);
  (void)story.begins();
  Leader leader = leader_at(0);
  leader.address = "10.0.0.1:1";  // the endpoint's process, by another name
  (void)story.opens(1);
  (void)story.is_welcomed(1, leader);
  (void)story.follows(leader);
  if (had_answer) (void)story.is_answered(1);
  (void)story.meets(Unfollow{});
  return story;
}

TEST_CASE("orphan: at its leader's place an agent says that nobody can be elected without it") {
  for (const bool had_answer : {true, false}) {
    UplinkStory story = bereaved(2, had_answer);
    const Hello hello = hello_at(story, endpoint);
    CHECK(hello.orphaned);
    CHECK(hello.knows == Epoch{1});
  }
}

TEST_CASE("orphan: elsewhere, and where others can be elected, it says nothing of the kind") {
  UplinkStory elsewhere = bereaved(2, true);
  CHECK_FALSE(hello_at(elsewhere, succession_story::voter(1).address).orphaned);
  UplinkStory of_three = bereaved(3, true);
  CHECK_FALSE(hello_at(of_three, endpoint).orphaned);
  UplinkStory of_none = bereaved(0, true);
  CHECK_FALSE(hello_at(of_none, endpoint).orphaned);
}

TEST_CASE("orphan: what this node's succession knows of the voters counts, too") {
  UplinkStory story = bereaved(3, true);
  const RecordId newer{Epoch{1}, GenerationNumber{2}};
  CHECK(story.meets(VotersChanged{voters_of(2), newer, leader_at(0)}).empty());
  CHECK(hello_at(story, endpoint).orphaned);
}

TEST_CASE("orphan: so does that its succession needs the dead one, for a record not decided yet") {
  UplinkStory story = bereaved(3, true);
  CHECK(story.meets(NeededVoters{{leader_at(5).agent}}).empty());
  CHECK_FALSE(hello_at(story, endpoint).orphaned);
  CHECK(story.meets(NeededVoters{{leader_at(0).agent}}).empty());
  CHECK(hello_at(story, endpoint).orphaned);
  CHECK_FALSE(hello_at(story, succession_story::voter(1).address).orphaned);
}

TEST_CASE("orphan: an endpoint whose name has moved to another address is another place") {
  UplinkStory story = bereaved(2, true);
  CHECK_FALSE(hello_at(story, endpoint, "10.0.0.9:1").orphaned);
}

TEST_CASE("orphan: what it hears at its leader's place is passed on with that") {
  for (const int voters_count : {2, 3}) {
    UplinkStory story = bereaved(voters_count, true);
    const std::int64_t connection = knocks_at(story, endpoint);
    (void)story.meets(ConnectionUp{{connection}, endpoint});
    const Welcome welcome{leader_at(3, 0), NodeId{1}, {}, {}};
    const std::vector<UplinkAction> actions = story.answers(Heard{{connection}, welcome});
    REQUIRE(actions.size() == 1);
    const auto& heard = std::get<HeardOf>(actions[0]);
    CHECK(heard.in_place_of == leader_at(0).agent);
    CHECK(heard.orphaned == (voters_count == 2));
  }
}

/// An agent that has heard of n0 from others, and was never let in there.
UplinkStory never_let_in() {
  UplinkStory story;
  (void)story.begins();
  Leader leader = leader_at(0);
  leader.address = endpoint;
  (void)story.meets(Follow{leader});
  (void)story.meets(Unfollow{});
  return story;
}

TEST_CASE("orphan: so is who was never let in by the leader that listened there") {
  UplinkStory story = never_let_in();
  CHECK(hello_at(story, endpoint).orphaned);
  UplinkStory elsewhere = never_let_in();
  CHECK_FALSE(hello_at(elsewhere, "n1:1").orphaned);
}

TEST_CASE("orphan: it is known by name, too, where the leader is") {
  UplinkStory story;
  (void)story.begins();
  Leader leader = leader_at(0);
  leader.address = "n0:1";
  (void)story.meets(Follow{leader});
  (void)story.meets(Unfollow{});
  CHECK(hello_at(story, "n0:1", "10.0.0.1:1").orphaned);
}

TEST_CASE("orphan: where a later leader listened that never let it in, too") {
  UplinkStory story = bereaved(3, true);
  Leader next = leader_at(3, 4);
  next.address = "n3:1";
  (void)story.meets(Follow{next});
  (void)story.meets(Unfollow{});
  Voters voters = voters_of(2);
  voters.all[0].agent = next.agent;
  const RecordId newer{Epoch{4}, GenerationNumber{2}};
  CHECK(story.meets(VotersChanged{voters, newer, next}).empty());
  const std::int64_t connection = knocks_at(story, endpoint);
  CHECK(last_hello(story.answers(ConnectionUp{{connection}, "n3:1"})).value().orphaned);
}

TEST_CASE("orphan: who was let in and told of no voters is none") {
  UplinkStory story = bereaved(0, true);
  Leader next = leader_at(3, 4);
  next.address = endpoint;
  (void)story.meets(Follow{next});
  (void)story.meets(Unfollow{});
  CHECK_FALSE(hello_at(story, endpoint).orphaned);
}

TEST_CASE("orphan: who founds admits it, and its epochs go on from there") {
  SuccessionStory story(0);
  CHECK(story.meets(Called{{1}, Epoch{5}, true, {}, "n1"}) ==
        succession_story::Lines{"mark found on n1", "admit"});  // the job may run elsewhere
  (void)story.meets(Propose{record_of(2).record});
  CHECK(story.succession.knowledge()->accepted == Epoch{6});
}

TEST_CASE("orphan: it follows who is in its leader's place, and has forgotten the job") {
  SuccessionStory story = following(2);
  Leader founder = leader_on(3, 0);
  CHECK(story.meets(HeardOf{founder, 0}).empty());  // somewhere else
  CHECK(story.meets(HeardOf{founder, leader_on(0, 1).agent}) ==
        succession_story::Lines{"follow n3", "nobody needed"});
  CHECK_FALSE(story.succession.knowledge().has_value());
}

TEST_CASE("orphan: V5 it votes for nobody any more who goes on with that job") {
  SuccessionStory story = following(2);
  (void)story.meets(HeardOf{leader_on(3, 0), leader_on(0, 1).agent});
  story.now = Instant{60'000};
  CHECK(story.is_asked(2, 4, record_of(3)) == succession_story::Lines{"n2: refuse 0"});
}

TEST_CASE("orphan: where the others can elect another, nobody is one") {
  SuccessionStory story = following(3);
  CHECK(story.meets(HeardOf{leader_on(3, 0), leader_on(0, 1).agent}).empty());
  CHECK(story.succession.knowledge().has_value());
}

/// n1 has a copy of a record that names so many, and came after one that named others.
SuccessionStory with_undecided(int count, int count_before) {
  SuccessionStory story = following(count_before);
  Knowledge next = record_of(count, 3);
  next.before = record_of(count_before).record.voters;
  next.decided = false;
  (void)story.is_led(leader_on(0, 1), next);
  REQUIRE(story.succession.knowledge()->id() == next.id());
  return story;
}

const HeardOf in_place_of_n0{leader_on(3, 0), leader_on(0, 1).agent};

/// It hears once that n0's process is dead.
bool forgets_at_once(SuccessionStory story) {
  (void)story.meets(in_place_of_n0);
  return !story.succession.knowledge();
}

/// It hears so as long as n0's process might not be.
bool forgets_at_last(SuccessionStory story) {
  for (story.now = Instant{100}; story.now < Instant{3'200}; story.now = story.now + Millis{100}) {
    const bool knows_one = story.succession.knowledge().has_value();
    if (story.now == Instant{3'100} && !knows_one) return false;  // too soon
    (void)story.meets(in_place_of_n0);
  }
  return !story.succession.knowledge();
}

TEST_CASE("orphan: one that was not told whether its record is decided") {
  CHECK(forgets_at_once(with_undecided(2, 3)));        // n2 alone is no majority of those before
  CHECK_FALSE(forgets_at_last(with_undecided(2, 5)));  // n2 to n4 are, and have not accepted it
  CHECK_FALSE(forgets_at_last(with_undecided(3, 3)));  // n1 and n2 have it
}

TEST_CASE("orphan: for a lease another may say that it knows the record to be decided") {
  CHECK_FALSE(forgets_at_once(with_undecided(3, 2)));
  CHECK(forgets_at_last(with_undecided(3, 2)));
  SuccessionStory told = with_undecided(3, 2);
  CHECK(told.meets(in_place_of_n0).empty());
  CHECK(told.meets(RecordDecided{told.succession.knowledge()->id()}).back() == "nobody needed");
  told.now = Instant{9'000};
  CHECK(told.meets(in_place_of_n0).empty());
  CHECK(told.succession.knowledge().has_value());
  SuccessionStory again = with_undecided(3, 2);  // n0's process starts once more
  (void)again.meets(in_place_of_n0);
  again.now = Instant{3'000};
  CHECK(again.meets(HeardOf{leader_on(4, 0), leader_on(0, 1).agent}).empty());
  CHECK(again.succession.knowledge().has_value());
}

TEST_CASE("orphan: who stands does not forget the job that another may vote for") {
  SuccessionStory story = with_undecided(3, 2);
  (void)story.meets(in_place_of_n0);
  (void)story.at(story.succession.next_deadline()->ms);
  REQUIRE(story.succession.state() == Succession::State::standing);
  CHECK(story.meets(in_place_of_n0).empty());
  const RecordId known = story.succession.knowledge()->id();
  (void)story.hears(Vote{succession_story::voter(2).agent, Epoch{2}, story.now, known});
  CHECK(story.succession.state() == Succession::State::leading);
}

TEST_CASE("orphan: a leader of its own job it follows, also in the lost leader's place") {
  Leader leader = leader_on(0, 1);
  leader.founding = {Epoch{1}, leader.agent};
  Knowledge undecided = record_of(2);
  undecided.decided = false;
  undecided.record.founding = leader.founding;
  SuccessionStory story;
  (void)story.is_led(leader, undecided);
  Leader elected = leader_on(3, 9);
  elected.founding = leader.founding;
  CHECK(story.meets(HeardOf{elected, leader_on(0, 1).agent}) ==
        succession_story::Lines{"follow n3"});
  CHECK(story.succession.knowledge().has_value());
}

TEST_CASE("orphan: a voter says whom nobody can be elected without, as soon as it may be so") {
  SuccessionStory story = following(3);
  Knowledge next = record_of(2, 3);
  next.before = record_of(3).record.voters;
  next.decided = false;
  const std::string said = fmt::format("{} needed", leader_on(0, 1).agent);
  CHECK(story.is_led(leader_on(0, 1), next) ==
        succession_story::Lines{"n0: following 1 with 3", said});
  CHECK(story.is_led(leader_on(0, 1), next) ==
        succession_story::Lines{"n0: following 1 with 3"});  // once
}

/// It has no vote, and was told by n0 itself whose job this is.
SuccessionStory without_a_vote() {
  SuccessionStory story;
  (void)story.meets(HeardOf{leader_on(0, 1)});
  Leader leader = leader_on(0, 1);
  leader.epoch = Epoch{2};
  leader.founding = {Epoch{2}, leader.agent};
  (void)story.meets(HeardOf{leader});
  return story;
}

TEST_CASE("orphan: one without a vote follows who is in its leader's place, too") {
  SuccessionStory story = without_a_vote();
  CHECK(story.meets(HeardOf{leader_on(3, 0), leader_on(0, 1).agent}).empty());
  CHECK(story.meets(HeardOf{leader_on(3, 0), leader_on(0, 1).agent, true}) ==
        succession_story::Lines{"unfollow", "follow n3"});
}

TEST_CASE("orphan: a record that names another process here keeps nobody in its job") {
  SuccessionStory story;
  Knowledge of_another = record_of(2);
  of_another.record.voters.all[1].agent = 77;  // n1's before this one
  of_another.record.voters.claim = true;
  (void)story.is_led(leader_on(0, 1), of_another);
  REQUIRE(story.succession.knowledge().has_value());
  CHECK(story.meets(HeardOf{leader_on(3, 0), leader_on(0, 1).agent, true}) ==
        succession_story::Lines{"unfollow", "follow n3"});
  CHECK_FALSE(story.succession.knowledge().has_value());
}

/// n2 or n3 asks n1, which does not know the record that names it.
succession_story::Lines is_asked_by(SuccessionStory& story, int candidate) {
  VoteRequest request{succession_story::voter(candidate), Epoch{9}, Instant{1}, {}, {}, {}};
  request.record = record_of(4).id();
  request.electors = {record_of(4).record.voters};
  return story.hears(request);
}

TEST_CASE("orphan: P1 what one without a vote has promised holds when it has left its leader") {
  SuccessionStory story = without_a_vote();
  story.now = Instant{60'000};
  CHECK(is_asked_by(story, 2).back() == "n2: vote 9");
  (void)story.meets(HeardOf{leader_on(3, 0), leader_on(0, 1).agent, true});
  story.now = Instant{120'000};
  CHECK(is_asked_by(story, 3) == succession_story::Lines{"n3: refuse 9"});
}

TEST_CASE("orphan: one without a vote may go on with its job after all") {
  SuccessionStory story = without_a_vote();
  (void)story.meets(HeardOf{leader_on(3, 0), leader_on(0, 1).agent, true});
  Leader elected = leader_on(2, 7);
  elected.founding = {Epoch{2}, leader_on(0, 1).agent};
  CHECK(story.meets(HeardOf{elected}) == succession_story::Lines{"follow n2"});
}

TEST_CASE("orphan: what the forgotten job's leaders have said comes late, and is not heeded") {
  SuccessionStory story = without_a_vote();
  (void)story.meets(HeardOf{leader_on(3, 0), leader_on(0, 1).agent, true});
  Leader late = leader_on(2, 2);
  late.founding = {Epoch{2}, leader_on(0, 1).agent};
  CHECK(story.meets(HeardOf{late}).empty());
  CHECK(story.is_led(late, record_of(3)).empty());
  CHECK_FALSE(story.succession.knowledge().has_value());
  late.founding = {Epoch{2}, 55};  // of another job, that nothing is known of
  CHECK(story.meets(HeardOf{late}) == succession_story::Lines{"follow n2"});
}

TEST_CASE("orphan: what was said of older voters and comes later makes none") {
  UplinkStory story = bereaved(3, true);
  Voters older;
  older.all = {succession_story::voter(0), succession_story::voter(1)};
  older.head = succession_story::voter(0).agent;
  story.record = RecordId{Epoch{1}, GenerationNumber{2}};
  const std::int64_t connection = knocks_at(story, endpoint);
  (void)story.meets(ConnectionUp{{connection}, "10.0.0.9:1"});
  (void)story.is_welcomed(connection, leader_at(4, 2));  // three voters, by this record
  story.voters = older;
  story.record = RecordId{Epoch{1}, GenerationNumber{1}};
  (void)story.is_welcomed(connection, leader_at(4, 2));
  (void)story.breaks(connection);
  CHECK_FALSE(hello_at(story, endpoint).orphaned);
}

TEST_CASE("orphan: a founder does not give way to whoever cannot be elected without the old head") {
  SuccessionStory story(0);
  Knowledge record = record_of(2);
  Voter& old_head = record.record.voters.all[0];
  old_head.agent = record.record.voters.head = 99;  // that process listened where the founder does
  CHECK(story.is_asked(1, 6, record) ==
        succession_story::Lines{"mark found on n1", "n1: refuse 0"});
  CHECK(story.is_asked(1, 6, record) == succession_story::Lines{"n1: refuse 0"});
  REQUIRE(story.succession.state() == Succession::State::leading);
  (void)story.meets(Propose{record_of(2).record});
  CHECK(story.succession.knowledge()->accepted == Epoch{7});
}

TEST_CASE("orphan: a founder gives way to whoever may be elected") {
  SuccessionStory story(0);
  Knowledge record = record_of(3);
  record.record.voters.all[0].agent = record.record.voters.head = 99;
  CHECK(story.is_asked(1, 6, record).front() == "step down");
}

}  // namespace
}  // namespace ddprun
