#include "tests/unit/rendezvous/membership/uplink_kit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ddprun {
namespace {

using namespace uplink_story;

TEST_CASE("uplink: U4 that the job must end is said to another leader, too") {
  UplinkStory story = leased();
  (void)story.is_asked_to_stop();
  (void)story.follows(leader_at(2, 2));
  (void)story.opens(2);
  CHECK(story.is_welcomed(2, leader_at(2, 2)) == Lines{"2: heartbeat 2 got 0", "2: news 1"});
}

TEST_CASE("uplink: U4 who leaves asks another leader for that, and not for the job's end") {
  UplinkStory story = leased();
  const LeaveRequested leave{{}, SIGTERM};
  (void)story.meets(TellNews{leave});
  (void)story.follows(leader_at(2, 2));
  (void)story.opens(2);
  std::vector<UplinkAction> actions;
  story.uplink.on_event(story.now, Heard{{2}, Welcome{leader_at(2, 2), {}, {}, {}}}, actions);
  std::vector<News> told;
  for (const UplinkAction& action : actions) {
    const auto* send = std::get_if<SendUp>(&action);
    const auto* news = send == nullptr ? nullptr : std::get_if<Numbered<News>>(&send->message);
    if (news != nullptr) told.push_back(news->message);
  }
  CHECK(told == std::vector<News>{leave});
}

TEST_CASE("uplink: who leaves waits for no coordinator") {
  UplinkStory story;
  (void)story.begins();
  (void)story.connects(1);
  const Lines lines = story.meets(TellNews{LeaveRequested{{}, SIGTERM}});
  REQUIRE(!lines.empty());
  CHECK(lines.front().starts_with(
      "give up with 143: stopped by SIGTERM (15); this node was waiting"));
}

/// Whether it gives up in the next `time`, with the status of SIGTERM.
bool ends_as_told(UplinkStory& story, std::int64_t time) {
  return std::ranges::any_of(story.after(time), [](const std::string& line) {
    return line.starts_with("give up with 143: stopped by SIGTERM (15)");
  });
}

TEST_CASE("uplink: who leaves between two coordinators waits a little for the second") {
  UplinkStory story = leased();
  (void)story.follows(leader_at(2, 2));
  CHECK(story.meets(TellNews{LeaveRequested{{}, SIGTERM}}).empty());
  CHECK_FALSE(ends_as_told(story, 999));
  CHECK(ends_as_told(story, 1));
}

TEST_CASE("uplink: who was told to leave before waits as little for another coordinator") {
  UplinkStory story = leased();
  (void)story.meets(TellNews{LeaveRequested{{}, SIGTERM}});
  (void)story.follows(leader_at(2, 2));
  CHECK_FALSE(ends_as_told(story, 999));
  CHECK(ends_as_told(story, 1));
}

TEST_CASE("uplink: whoever wants to stop waits no longer for another leader than for a lost one") {
  UplinkStory story = leased();
  (void)story.is_asked_to_stop();
  (void)story.follows(leader_at(2, 2));
  const auto gives_up = [&](std::int64_t time) {
    for (const std::string& line : story.after(time)) {
      if (line.starts_with("give up with 130: stopped by SIGINT (2)")) return true;
    }
    return false;
  };
  CHECK_FALSE(gives_up(3'999));
  CHECK(gives_up(1));
}

/// When it gives up if nobody answers, to a millisecond; it has to be within `limit` of now.
std::int64_t end_of_patience(UplinkStory story, std::int64_t limit) {
  for (std::int64_t waited = 0; waited < limit; ++waited) {
    for (const std::string& line : story.after(1)) {
      if (line.starts_with("give up")) return story.now.ms;
    }
  }
  return 0;
}

TEST_CASE("uplink: another leader that is lost, too, is not waited for anew") {
  UplinkStory lost = leased();
  (void)lost.breaks(1);
  (void)lost.after(3'000);
  REQUIRE(end_of_patience(lost, 31'000) == 33'000);
  SUBCASE("with time left") {
    lost.now = Instant{20'000};
    (void)lost.follows(leader_at(2, 2));
    CHECK(end_of_patience(lost, 31'000) == 33'000);
  }
  SUBCASE("at the last moment it has the time of an answer") {
    lost.now = Instant{32'999};
    (void)lost.follows(leader_at(2, 2));
    CHECK(end_of_patience(lost, 31'000) == 36'999);
  }
  SUBCASE("nor by who never had one") {
    UplinkStory joining;
    (void)joining.begins();
    (void)joining.follows(leader_at(0));
    joining.now = Instant{590'000};
    (void)joining.follows(leader_at(2, 2));
    CHECK(end_of_patience(joining, 31'000) == 600'000);
  }
  SUBCASE("but one that takes the place of a living leader is") {
    UplinkStory served = leased();
    (void)served.follows(leader_at(2, 2));
    CHECK(end_of_patience(served, 31'000) == 30'000);
  }
}

TEST_CASE("uplink: what an earlier leader refused is no reason once another leads") {
  UplinkStory story = leased();
  (void)story.hears(Forgotten{{7, 1}, leader_at(0)});
  (void)story.hears(Refused{"n9 has it", Millis{500}, {}});
  (void)story.follows(leader_at(2, 2));
  story.now = story.now + Millis{29'999};
  (void)story.after(0);
  CHECK(story.after(1).front() ==
        "give up with 75: the coordinator was lost: no answer from n0:1; what was saved is "
        "kept: run again");
}

TEST_CASE("uplink: nor for who was never admitted, which names the leader that was lost") {
  UplinkStory story;
  (void)story.begins();
  (void)story.opens(1);
  (void)story.hears(Refused{"n9 has it", Millis{500}, leader_at(0)});
  (void)story.follows(leader_at(2, 2));
  story.now = Instant{599'999};
  (void)story.after(0);
  CHECK(story.after(1).front() ==
        "give up with 69: the coordinator on n2 was lost: no answer from n0:1");
}

TEST_CASE("uplink: who leads nobody is asked who does, and the answer is passed on") {
  UplinkStory story;
  (void)story.begins();
  (void)story.opens(1);
  CHECK(story.hears(Redirect{leader_at(2)}) == Lines{"disconnect 1", "heard of n2"});
  CHECK(story.follows(leader_at(2)) == Lines{"connect 2"});
  (void)story.opens(2);
  CHECK(story.is_welcomed(2, leader_at(2)) == Lines{"2: heartbeat 1 got 0"});
}

TEST_CASE("uplink: of one who is not followed no answer counts") {
  UplinkStory story = leased();
  (void)story.after(1'000);
  (void)story.opens(2);
  CHECK(story.is_welcomed(2, leader_at(2, 5)) == Lines{"heard of n2"});
  CHECK(story.is_answered(2, 2).empty());
  CHECK(story.hears(Forgotten{{7, 1}, leader_at(2, 5)}, 2) == Lines{"heard of n2"});
  CHECK(story.hears(stop_number(1), 2).empty());
  CHECK(story.uplink.lease_end() == Instant{3'000});
}

TEST_CASE("uplink: U4 for another leader nothing is left, neither news nor lease") {
  UplinkStory story = leased();
  (void)story.tells();
  CHECK(story.follows(leader_at(2, 2)) == Lines{"life ended", "disconnect 1", "connect 2"});
  CHECK_FALSE(story.uplink.lease_end());
  (void)story.opens(2);
  CHECK(story.is_welcomed(2, leader_at(2, 2)) == Lines{"2: heartbeat 2 got 0"});
  CHECK(story.tells() == Lines{"2: news 1"});
}

TEST_CASE("uplink: U4 each leader has a life of its own, also one that is followed again") {
  UplinkStory story = leased();
  (void)story.follows(leader_at(2, 2));
  CHECK(story.opens(2) == Lines{"2: hello of life 2"});
  (void)story.is_welcomed(2, leader_at(2, 2));
  CHECK(story.follows(leader_at(0)) == Lines{"life ended", "disconnect 2", "connect 3"});
  CHECK(story.opens(3) == Lines{"3: hello of life 3"});
  (void)story.meets(Unfollow{});
  (void)story.follows(leader_at(0));  // nobody else was followed meanwhile
  CHECK(story.opens(4) == Lines{"4: hello of life 3"});
}

TEST_CASE("uplink: U4 a life that nobody has let in goes on with whoever leads next") {
  UplinkStory story = leased();
  CHECK(story.follows(leader_at(2, 2)) == Lines{"life ended", "disconnect 1", "connect 2"});
  CHECK(story.tells() == Lines());
  (void)story.opens(2);
  CHECK(story.is_welcomed(2, leader_at(2, 3)) == Lines{"heard of n2"});  // it was elected again
  CHECK(story.follows(leader_at(2, 3)) == Lines{"2: heartbeat 2 got 0", "2: news 1"});
  CHECK(story.follows(leader_at(3, 4)).front() == "life ended");
}

TEST_CASE("uplink: its will is for the leader that has admitted it, until the job is over") {
  UplinkStory story;
  (void)story.begins();
  (void)story.opens(1);
  CHECK(story.will_is_for.empty());
  (void)story.is_welcomed(1);
  (void)story.follows(leader_at(0));
  CHECK(story.will_is_for == "n0:1");
  (void)story.is_answered(1);
  UplinkStory over = story;
  (void)over.hears(Numbered<Instruction>{1, FinishJob{NodeId{1}, {0, "all good", {}}}});
  CHECK(over.will_is_for.empty());
  (void)over.breaks(1);
  (void)over.after(25);
  (void)over.connects(2);
  CHECK(over.will_is_for.empty());
  UplinkStory leaves = story;  // its place is free once it is gone
  (void)leaves.hears(Numbered<Instruction>{1, FinishJob{NodeId{1}, {143, "left", {}}, true}});
  CHECK(leaves.will_is_for == "n0:1");
  (void)story.follows(leader_at(2, 2));
  CHECK(story.will_is_for.empty());
}

TEST_CASE("uplink: a leader that only raised its epoch is the same one") {
  UplinkStory story = leased();
  (void)story.tells();
  Leader raised = leader_at(0);
  raised.epoch = Epoch{4};
  CHECK(story.follows(raised) == Lines{"1: heartbeat 2 got 0", "1: news 1"});
  CHECK(story.uplink.lease_end() == Instant{3'000});
}

TEST_CASE(
    "uplink: while nobody leads it knocks at voters, the endpoint and the other_leader hosts") {
  UplinkStory story;
  story.voters.all = {{105, NodeId{5}, "n5", "n5:1"}};
  (void)story.begins();
  (void)story.connects(1);
  CHECK(story.meets(Unfollow{}) == Lines{"disconnect 1"});
  std::vector<std::string> doors;
  for (std::int64_t id = 2; id < 8; ++id) {
    story.now = *story.uplink.next_deadline();
    std::vector<UplinkAction> actions;
    while (actions.empty() || !std::holds_alternative<Connect>(actions.back())) {
      story.now = *story.uplink.next_deadline();
      actions = story.answers(Timeout{});
    }
    doors.push_back(std::get<Connect>(actions.back()).address);
    (void)story.breaks(id);
  }
  CHECK(doors == std::vector<std::string>{"n1:1", "n5:1", "n0:1", "n2:1", "n5:1", "n0:1"});
}

// The whole table of what an agent is told about leaders. A cell that is not listed must change
// nothing.
enum class Link {
  searching,  // a connection is up, nobody is followed
  awaited,    // n0 is followed, and its welcome is waited for
  entered,    // it was welcomed by n0
  leased,     // and has a lease
};
constexpr std::array every_link{Link::searching, Link::awaited, Link::entered, Link::leased};

const RecordId a_record{Epoch{1}, GenerationNumber{2}};

UplinkStory uplink_in(Link state) {
  UplinkStory story;
  (void)story.begins();
  (void)story.opens(1);
  if (state == Link::searching) return story;
  (void)story.follows(leader_at(0));
  (void)story.opens(2);
  if (state == Link::awaited) return story;
  (void)story.is_welcomed(2);
  if (state == Link::entered) return story;
  (void)story.is_answered(1, 2);
  return story;
}

struct LinkRow {
  std::string name;
  UplinkEvent event;
  std::map<Link, Lines> answers;  // empty for none though something changes
};

const Leader other_leader = leader_at(2, 5);
/// The same that leads n0's job, which has just been founded.
Leader founder_at(int node) {
  Leader leader = leader_at(node);
  leader.founding = {Epoch{1}, leader.agent};
  return leader;
}

/// What the succession says.
std::vector<LinkRow> choices() {
  Leader raised = leader_at(0);
  raised.epoch = Epoch{4};
  return {
      {"follow n0",
       Follow{leader_at(0)},
       {{Link::searching, {"disconnect 1", "connect 2"}},
        {Link::awaited, {"disconnect 2", "connect 3"}},
        {Link::entered, {"2: heartbeat 2 got 0"}},
        {Link::leased, {"2: heartbeat 2 got 0"}}}},
      {"follow n0 in a higher epoch",
       Follow{raised},
       {{Link::searching, {"disconnect 1", "connect 2"}},
        {Link::awaited, {"disconnect 2", "connect 3"}},
        {Link::entered, {"2: heartbeat 2 got 0"}},
        {Link::leased, {"2: heartbeat 2 got 0"}}}},
      {"follow n2",
       Follow{other_leader},
       {{Link::searching, {"disconnect 1", "connect 2"}},
        {Link::awaited, {"disconnect 2", "connect 3"}},
        {Link::entered, {"life ended", "disconnect 2", "connect 3"}},
        {Link::leased, {"life ended", "disconnect 2", "connect 3"}}}},
      {"unfollow",
       Unfollow{},
       {{Link::searching, {"disconnect 1"}},
        {Link::awaited, {"disconnect 2"}},
        {Link::entered, {"disconnect 2"}},
        {Link::leased, {"disconnect 2"}}}},
  };
}

/// What comes over the connection on which the story goes on.
std::vector<LinkRow> messages(Link state) {
  const std::int64_t id = state == Link::searching ? 1 : 2;
  const auto heard = [id](ToAgent message) { return UplinkEvent(Heard{{id}, std::move(message)}); };
  return {
      {"welcome by n0",
       heard(Welcome{leader_at(0), NodeId{1}, {}, {}}),
       {{Link::searching, {"heard of n0"}},
        {Link::awaited, {"2: heartbeat 1 got 0"}},
        {Link::entered, {"2: heartbeat 2 got 0"}},
        {Link::leased, {"2: heartbeat 2 got 0"}}}},
      {"welcome by n2",
       heard(Welcome{other_leader, NodeId{1}, {}, {}}),
       {{Link::searching, {"heard of n2"}},
        {Link::awaited, {"heard of n2"}},
        {Link::entered, {"heard of n2"}},
        {Link::leased, {"heard of n2"}}}},
      {"redirect to n2",
       heard(Redirect{other_leader}),
       {{Link::searching, {"disconnect 1", "heard of n2"}},
        {Link::awaited, {"disconnect 2", "heard of n2"}},
        {Link::entered, {"disconnect 2", "heard of n2"}},
        {Link::leased, {"disconnect 2", "heard of n2"}}}},
      {"redirect to nobody",
       heard(Redirect{}),
       {{Link::searching, {"disconnect 1"}},
        {Link::awaited, {"disconnect 2"}},
        {Link::entered, {"disconnect 2"}},
        {Link::leased, {"disconnect 2"}}}},
      {"voters",
       heard(VotersChanged{{{{105, NodeId{5}, "n5", "n5:1"}}}, {}, leader_at(0)}),
       {{Link::entered, {}}, {Link::leased, {}}}},
      {"voters of a record",
       heard(VotersChanged{{{{105, NodeId{5}, "n5", "n5:1"}}}, a_record, leader_at(0)}),
       {{Link::entered, {"record 2 is decided"}}, {Link::leased, {"record 2 is decided"}}}},
      {"voters that this node's succession knows",
       VotersChanged{{{{105, NodeId{5}, "n5", "n5:1"}}}, a_record, leader_at(0)},
       {{Link::searching, {}}, {Link::awaited, {}}, {Link::entered, {}}, {Link::leased, {}}}},
      {"voters of a job that is founded",
       heard(VotersChanged{{{{105, NodeId{5}, "n5", "n5:1"}}}, {}, founder_at(0)}),
       {{Link::entered, {"heard of n0"}}, {Link::leased, {"heard of n0"}}}},
      {"forgotten by n0",
       heard(Forgotten{{7, 1}, leader_at(0)}),
       {{Link::searching, {"heard of n0"}},
        {Link::awaited, {"life ended", "2: hello of life 2"}},
        {Link::entered, {"life ended", "2: hello of life 2"}},
        {Link::leased, {"life ended", "2: hello of life 2"}}}},
      {"forgotten by n2",
       heard(Forgotten{{7, 1}, other_leader}),
       {{Link::searching, {"heard of n2"}},
        {Link::awaited, {"heard of n2"}},
        {Link::entered, {"heard of n2"}},
        {Link::leased, {"heard of n2"}}}},
      {"another life forgotten", heard(Forgotten{{7, 9}, leader_at(0)}), {}},
      {"answer", heard(Ack{1, 0, Millis{3'000}}), {{Link::entered, {}}}},
      {"start",
       heard(start_number(1)),
       {{Link::entered, {"2: heartbeat 2 got 0"}},
        {Link::leased, {"2: heartbeat 2 got 1", "pass on 0"}}}},
      {"stop",
       heard(stop_number(1)),
       {{Link::entered, {"2: heartbeat 2 got 1", "pass on 1"}},
        {Link::leased, {"2: heartbeat 2 got 1", "pass on 1"}}}},
      {"the job's end",
       heard(Numbered<Instruction>{1, FinishJob{}}),
       {{Link::entered, {"2: heartbeat 2 got 1", "pass on 2"}},
        {Link::leased, {"2: heartbeat 2 got 1", "pass on 2"}}}},
  };
}

TEST_CASE(
    "uplink: what is said of leaders is answered as listed in each state, or changes nothing") {
  for (const Link state : every_link) {
    std::vector<LinkRow> rows = choices();
    for (const LinkRow& row : messages(state)) rows.push_back(row);
    for (const LinkRow& row : rows) {
      INFO(row.name, " in state ", static_cast<int>(state));
      UplinkStory story = uplink_in(state);
      const Uplink before = story.uplink;
      const Lines answer = story.meets(row.event);
      const auto expected = row.answers.find(state);
      const bool listed = expected != row.answers.end();
      CHECK(answer == (listed ? expected->second : Lines()));
      CHECK((story.uplink == before) == !listed);
    }
  }
}

TEST_CASE(
    "uplink: where it was forgotten by another leader, it greets that one anew once followed") {
  UplinkStory story = leased();
  (void)story.after(1'000);
  (void)story.opens(2);
  CHECK(story.hears(Forgotten{{7, 1}, leader_at(2, 5)}, 2) == Lines{"heard of n2"});
  CHECK(story.follows(leader_at(2, 5)) ==
        Lines{"life ended", "disconnect 1", "2: hello of life 2"});
  CHECK(story.is_welcomed(2, leader_at(2, 5)) == Lines{"2: heartbeat 3 got 0"});
}

}  // namespace
}  // namespace ddprun
