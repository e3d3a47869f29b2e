#include "tests/unit/rendezvous/membership/roster_kit.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::roster_story {
namespace {

TEST_CASE("roster: heartbeats are answered, and silence alone makes a node lost") {
  RosterStory story;
  (void)story.greets(1, {11, 1});
  CHECK(story.beats(1, 1) == Lines{"1: ack 1 got 0 lead 3000"});
  CHECK(story.after(3'500).empty());
  CHECK(story.beats(1, 2) == Lines{"1: ack 2 got 0 lead 3000"});
  CHECK(story.meets(SessionClosed{{1}}).empty());
  CHECK(story.after(3'500).empty());
  CHECK(story.after(500) == Lines{"node 1 lost: silent for 4 s"});
  CHECK(story.after(60'000).empty());  // once
}

TEST_CASE("roster: O1 of a lost life nothing is passed on, and it is told to end") {
  RosterStory story;
  (void)story.greets(1, {11, 1});
  (void)story.after(4'000);
  CHECK(story.joins(1) == Lines{"1: forgotten life 1"});
  CHECK(story.beats(1, 9) == Lines{"1: forgotten life 1"});
  CHECK(story.greets(2, {11, 1}) == Lines{"2: forgotten life 1"});
  CHECK(story.greets(2, {11, 2}) == Lines{"close 1"});
  CHECK(story.joins(2) == Lines{"join of node 1"});  // its place is still its own
  CHECK(story.beats(1, 10).empty());
}

TEST_CASE("roster: O1 a new life waits until the old one is lost") {
  RosterStory story;
  (void)story.greets(1, {11, 1});
  CHECK(story.greets(2, {11, 2}).empty());
  CHECK(story.joins(2).empty());
  CHECK(story.after(4'000) == Lines{"node 1 lost: silent for 4 s"});
  (void)story.greets(2, {11, 2});
  CHECK(story.joins(2) == Lines{"join of node 1"});
}

TEST_CASE("roster: O1 in a session where a later life has said hello the earlier one is silent") {
  RosterStory story;
  (void)story.greets(1, {11, 1});
  CHECK(story.greets(1, {11, 2}).empty());  // on the same connection, before the first is lost
  CHECK(story.beats(1, 1).empty());
  CHECK(story.joins(1).empty());
  CHECK(story.instructs(1).empty());  // nor is that life told anything there
  CHECK(story.after(4'000) == Lines{"node 1 lost: silent for 4 s"});
  (void)story.greets(1, {11, 2});
  CHECK(story.joins(1) == Lines{"join of node 1"});
}

TEST_CASE("roster: O1 a later life's hello elsewhere does not silence the one that lives") {
  RosterStory story;
  (void)story.greets(1, {11, 1});
  (void)story.greets(2, {11, 2});
  CHECK(story.beats(1, 1) == Lines{"1: ack 1 got 0 lead 3000"});
  CHECK(story.instructs(1) == Lines{"1: instruction 1"});
  CHECK(story.beats(2, 1).empty());
}

TEST_CASE("roster: O3 instructions are said again on a new connection, until they are confirmed") {
  RosterStory story;
  (void)story.greets(1, {11, 1});
  CHECK(story.instructs(1) == Lines{"1: instruction 1"});
  CHECK(story.instructs(1) == Lines{"1: instruction 2"});
  CHECK(story.beats(1, 1, 1) == Lines{"1: ack 1 got 0 lead 3000", "1: instruction 2"});
  CHECK(story.greets(2, {11, 1}) == Lines{"close 1", "2: instruction 2"});
  (void)story.after(500);
  CHECK(story.beats(2, 2, 1) == Lines{"2: ack 2 got 0 lead 3000", "2: instruction 2"});
  CHECK(story.beats(2, 3, 2) == Lines{"2: ack 3 got 0 lead 3000"});
}

TEST_CASE("roster: O3 what came before a lease was said is said again behind the first one") {
  RosterStory story;
  (void)story.meets(LeadChanged{Instant{}, Epoch{2}});  // a gatherer's, which nobody follows yet
  (void)story.greets(1, {11, 1});
  CHECK(story.beats(1, 1) == Lines{"1: ack 1 got 0 lead 0"});
  CHECK(story.instructs(1) == Lines{"1: instruction 1"});
  CHECK(story.beats(1, 2) == Lines{"1: ack 2 got 0 lead 0"});
  (void)story.meets(LeadChanged{Instant{3'000}, Epoch{2}});
  CHECK(story.beats(1, 3) == Lines{"1: ack 3 got 0 lead 3000", "1: instruction 1"});
  CHECK(story.beats(1, 4) == Lines{"1: ack 4 got 0 lead 3000"});  // once
  (void)story.meets(LeadChanged{Instant{}, Epoch{2}});
  CHECK(story.beats(1, 5) == Lines{"1: ack 5 got 0 lead 0"});
  (void)story.meets(LeadChanged{Instant{3'000}, Epoch{2}});
  CHECK(story.beats(1, 6) == Lines{"1: ack 6 got 0 lead 3000", "1: instruction 1"});
}

TEST_CASE("roster: O3 an instruction waits for a connection, and is dropped with the life") {
  RosterStory story;
  CHECK(story.instructs(1).empty());  // nobody is there
  (void)story.greets(1, {11, 1});
  (void)story.meets(SessionClosed{{1}});
  CHECK(story.instructs(1).empty());
  CHECK(story.greets(2, {11, 1}) == Lines{"2: instruction 1"});
  (void)story.after(4'000);
  (void)story.greets(3, {11, 2});
  CHECK(story.beats(3, 1) == Lines{"3: ack 1 got 0 lead 3000"});
}

TEST_CASE("roster: news are passed on once and in order") {
  RosterStory story;
  (void)story.greets(1, {11, 1});
  CHECK(story.joins(1, 2).empty());
  CHECK(story.joins(1, 1).size() == 1);
  CHECK(story.joins(1, 1).empty());
  CHECK(story.joins(1, 2).size() == 1);
  CHECK(story.beats(1, 1) == Lines{"1: ack 1 got 2 lead 3000"});
}

TEST_CASE("roster: while the coordinator itself is held up, nobody's silence counts") {
  RosterStory story;
  (void)story.greets(1, {11, 1});
  (void)story.beats(1, 1);
  story.now = Instant{9'000};  // SIGSTOP, a hung disk
  CHECK(story.meets(Timeout{}).empty());
  CHECK(story.beats(1, 2).size() == 1);  // was in the socket all the time
  CHECK(story.after(3'500).empty());
  CHECK(story.after(500).size() == 1);
}

TEST_CASE("roster: strangers without a greeting, and more agents than allowed, get nowhere") {
  RosterStory story;
  story.roster = Roster(
      RosterOptions{.leader = roster_leader, .times = usual_times, .agents_max = 1}, Instant{});
  CHECK(story.beats(5, 1).empty());
  CHECK(story.joins(5).empty());
  CHECK(story.meets(SessionClosed{{5}}).empty());
  (void)story.greets(1, {11, 1});
  CHECK(story.greets(2, {12, 1}) == refused(2, "there are too many agents already"));
}

TEST_CASE("roster: lost agents make room, and are told all the same that their life is over") {
  RosterStory story;
  story.roster = Roster(
      RosterOptions{.leader = roster_leader, .times = usual_times, .agents_max = 1}, Instant{});
  (void)story.greets(1, {11, 1});
  (void)story.after(4'000);
  CHECK(story.says_hello(2, {12, 1}) == Lines{"2: welcome node 2, 0 voters"});
  CHECK(story.beats(1, 1) == Lines{"1: forgotten life 1"});
  (void)story.after(4'000);
  Hello again = hello_of({11, 1}, {});
  again.coordinator = roster_leader.agent;
  CHECK(story.meets(Received{{3}, again}) == Lines{"3: forgotten life 1"});
}

TEST_CASE("roster: an agent that was told another time until nodes are lost is refused") {
  RosterStory story;
  CHECK(story.meets(Received{{1}, Hello{{11, 1}, "n1", {}, 1, 1, Millis{1'500}}}) ==
        refused(1, "n1 was started with --dead-after 1.5s, the coordinator with 4s"));
}

TEST_CASE("roster: what a sleeping coordinator adds to its patience is no word from an agent") {
  RosterStory story;
  (void)story.greets(1, {11, 1}, NodeId{2});
  story.now = Instant{20'000};
  CHECK(story.meets(Timeout{}).empty());
  const auto actions = [&] {
    std::vector<RosterAction> out;
    story.roster.on_event(story.now, Received{{2}, Hello{{12, 1}, "n12", NodeId{2}}}, out);
    return out;
  }();
  REQUIRE(!actions.empty());
  const auto& refusal = std::get<Refused>(std::get<SendDown>(actions[0]).message);
  CHECK(refusal.holder_silent == Millis{20'000});
}

TEST_CASE("roster: an agent that was told another number of nodes is refused, with both") {
  RosterStory story;
  CHECK(story.meets(Received{{1}, Hello{{11, 1}, "n1", {}, 2, 4}}) ==
        refused(1, "n1 was started with --nnodes 2:4, the coordinator with 1:1"));
}

TEST_CASE("roster: who greets is told its place and whom to ask when this leader is lost") {
  RosterStory story;
  CHECK(story.says_hello(1, {11, 1}) == Lines{"1: welcome node 1, 0 voters"});
  Leader founder = roster_leader;
  founder.founding = {Epoch{1}, founder.agent};
  CHECK(story.meets(VotersChanged{{{{11, NodeId{1}, "n11", "n11:1"}}, 11}, {}, founder}) ==
        Lines{"1: 1 voters"});
  CHECK(story.says_hello(2, {12, 1}) ==
        Lines{fmt::format("2: welcome node 2, 1 voters, by {}", founder.agent)});
}

TEST_CASE("roster: O6 no ack outlives the lead") {
  RosterStory story;
  (void)story.greets(1, {11, 1});
  CHECK(story.meets(LeadChanged{Instant{1'200}, Epoch{2}}).empty());
  CHECK(story.beats(1, 1) == Lines{"1: ack 1 got 0 lead 1200"});
  story.now = Instant{1'500};
  CHECK(story.beats(1, 2) == Lines{"1: ack 2 got 0 lead 0"});
  (void)story.meets(LeadChanged{Lead::forever, Epoch{2}});
  CHECK(story.beats(1, 3) == Lines{"1: ack 3 got 0 lead 3000"});
}

TEST_CASE("roster: O7 a will under the agent's secret loses its node at once, and once") {
  RosterStory story;
  const AgentSecret secret{7};
  Hello hello = hello_of({11, 1}, {});
  hello.secret = secret;
  (void)story.meets(Received{{1}, hello});
  for (const Will& will : {Will{11, {8}}, Will{11, {}}, Will{12, secret}}) {
    CAPTURE(will.agent);
    CHECK(story.meets(Received{{2}, will}).empty());
    CHECK(story.beats(1, 1).size() == 1);
  }
  const Lines lost{"node 1 lost: its ddprun has ended, and no process of it is left there"};
  CHECK(story.meets(Received{{2}, Will{11, secret}}) == lost);
  CHECK(story.meets(Received{{3}, Will{11, secret}}).empty());
  hello.from.life = 2;  // it was on its way
  CHECK(story.meets(Received{{4}, hello}) == Lines{"4: forgotten life 2"});
  CHECK(story.after(60'000).empty());
}

TEST_CASE("roster: O7 nobody else speaks for an agent that was admitted") {
  RosterStory story;
  Hello hello = hello_of({11, 1}, {});
  hello.secret = {7};
  (void)story.meets(Received{{1}, hello});
  Hello forged = hello;
  const Lines refused{"close 2: refused: a process that is not n11's agent says that it is"};
  for (const AgentSecret& secret : {AgentSecret{8}, AgentSecret{}}) {
    forged.secret = secret;
    for (const std::uint32_t life : {1U, 2U}) {
      forged.from.life = life;
      CHECK(story.meets(Received{{2}, forged}) == refused);
      CHECK(story.beats(2, 1).empty());
      CHECK(story.beats(1, 1).size() == 1);
      CHECK(story.meets(Received{{3}, Will{11, secret}}).empty());
    }
  }
  CHECK(story.after(4'000) == Lines{"node 1 lost: silent for 4 s"});
  CHECK(story.meets(Received{{2}, forged}) == refused);
  hello.from.life = 2;
  CHECK(story.meets(Received{{4}, hello}).back().starts_with("4: welcome"));
}

TEST_CASE("roster: O7 nobody can leave a will for an agent that leaves none") {
  RosterStory story;
  (void)story.greets(1, {11, 1});
  CHECK(story.meets(Received{{2}, Will{11, {}}}).empty());
  CHECK(story.beats(1, 1).size() == 1);
}

TEST_CASE("roster: O7 a will for one that was given up before changes nothing") {
  RosterStory story;
  Hello hello = hello_of({11, 1}, {});
  hello.secret = {7};
  (void)story.meets(Received{{1}, hello});
  CHECK(story.after(4'000) == Lines{"node 1 lost: silent for 4 s"});
  CHECK(story.meets(Received{{2}, Will{11, {7}}}).empty());
}

TEST_CASE("roster: the offer says who makes it, and where that listens") {
  Roster roster(RosterOptions{}, Instant{});
  std::vector<RosterAction> actions;
  roster.on_event({}, Received{{1}, hello_of({11, 1}, {})}, actions);
  roster.on_event({}, Received{{1}, Numbered<News>{1, Join{}}}, actions);
  const CoordinatorEvent event = std::get<Report>(actions.back()).event;
  CHECK(std::get<Join>(event).offer.agent == 11);
  CHECK(std::get<Join>(event).offer.contact == "n11:1");
  const NodeId node = std::get<Join>(event).offer.node;
  actions.clear();
  roster.on_event({}, Received{{1}, Numbered<News>{2, WorkersStuck{NodeId{99}, {}, ""}}}, actions);
  CHECK(std::get<WorkersStuck>(std::get<Report>(actions.at(0)).event).node == node);
  actions.clear();
  roster.on_event(
      {}, Received{{1}, Numbered<News>{3, StoreUnreachable{NodeId{99}, {}, ""}}}, actions);
  CHECK(std::get<StoreUnreachable>(std::get<Report>(actions.at(0)).event).node == node);
}

/// Once it has heard nothing for long.
CoordinatorEvent first_report_of_silence(Roster& roster) {
  std::vector<RosterAction> actions;
  for (Instant now; actions.empty() && now.ms < 60'000; now.ms += 100) {
    roster.on_event(now, Timeout{}, actions);
  }
  return std::get<Report>(actions.at(0)).event;
}

TEST_CASE("roster: what comes of a witness says so, and what comes of a node does not") {
  for (const bool is_witness : {true, false}) {
    CAPTURE(is_witness);
    Roster roster(RosterOptions{}, Instant{});
    std::vector<RosterAction> actions;
    Hello hello = hello_of({11, 1}, {});
    hello.witness = is_witness;
    roster.on_event({}, Received{{1}, hello}, actions);
    hello.witness = !is_witness;  // it cannot become another kind
    roster.on_event({}, Received{{1}, hello}, actions);
    Join join;
    join.offer.witness = !is_witness;  // the roster knows better
    roster.on_event({}, Received{{1}, Numbered<News>{1, join}}, actions);
    const CoordinatorEvent joined = std::get<Report>(actions.back()).event;
    CHECK(std::get<Join>(joined).offer.witness == is_witness);
    const CoordinatorEvent lost = first_report_of_silence(roster);
    CHECK(std::get<NodeLost>(lost).witness == is_witness);
  }
}

TEST_CASE("roster: a witness of an earlier head is one from its first hello on") {
  Roster roster(RosterOptions{}, Instant{});
  std::vector<RosterAction> actions;
  Hello hello = hello_of({11, 1}, {});
  hello.witness = true;
  hello.coordinator = 99;
  roster.on_event({}, Received{{1}, hello}, actions);
  CHECK(std::get<NodeLost>(first_report_of_silence(roster)).witness);
}

TEST_CASE("roster: who offers no worker and is no witness is refused") {
  RosterStory story;
  (void)story.says_hello(1, {11, 1});
  Join join;
  join.offer.worker_count = 0;
  CHECK(story.meets(Received{{1}, Numbered<News>{1, join}}) ==
        Lines{"close 1: refused: n11 offers no worker, and is no witness"});
  CHECK(story.joins(1, 2) == Lines{"join of node 1"});
}

/// A generation of agents 11 on node 1, 12 on node 2 and 13 on node 3, formed by 11.
Generation inherited_record() {
  Generation record;
  record.number = GenerationNumber{4};
  for (int node = 1; node <= 3; ++node) {
    Offer one;
    one.node = NodeId{node};
    one.agent = AgentId{10} + static_cast<AgentId>(node);
    one.host = fmt::format("n{}", one.agent);
    record.members.push_back({one, Rank{node - 1}});
  }
  record.voters.head = 11;
  return record;
}

TEST_CASE("roster: inherited members keep their places, and are lost if they do not come") {
  RosterStory story;
  story.roster.inherit(Instant{}, inherited_record(), Instant{-3'000});
  CHECK(story.says_hello(1, {13, 5}) == Lines{"1: welcome node 3, 0 voters"});  // in any life
  CHECK(story.says_hello(2, {99, 1}, NodeId{2}) ==
        place_taken(2, "n99 asks for the place of node 2, which n12 has"));
  CHECK(story.says_hello(3, {98, 1}) == Lines{"3: welcome node 4, 0 voters"});
  CHECK(story.after(1'000) == Lines{"node 1 lost: silent for 4 s"});  // the old head
  (void)story.beats(1, 1);
  (void)story.beats(3, 1);
  CHECK(story.after(3'000) == Lines{"node 2 lost: silent for 4 s"});
}

TEST_CASE("roster: after a head that left, it and those that are gone do not count") {
  const RosterOptions full{.leader = roster_leader, .times = usual_times, .nodes_all = 3};
  for (const bool has_left : {true, false}) {
    RosterStory story;
    story.roster = Roster(full, Instant{});
    const std::optional<Legacy> legacy(Legacy{{NodeId{2}}, 2});
    story.roster.inherit(
        Instant{}, inherited_record(), Instant{}, has_left ? legacy : std::nullopt);
    CHECK(story.greets(1, {11, 1}).empty());  // to hear that it may leave
    CHECK(story.greets(2, {13, 1}).empty());
    CHECK(story.greets(3, {97, 1}).empty() == has_left);
    CHECK(story.greets(4, {98, 1}).empty() == has_left);
    CHECK_FALSE(story.greets(5, {99, 1}).empty());
  }
}

// The whole table of what succession adds, for agent 12 on node 2.
enum class Known {
  unknown,    // it has never come
  inherited,  // it was in the last generation, and has not come yet
  welcomed,   // it has, over session 1
  lost,       // and was silent then
};

RosterStory roster_in(Known state) {
  RosterStory story;
  if (state == Known::inherited) story.roster.inherit(Instant{}, inherited_record(), Instant{});
  if (state == Known::welcomed || state == Known::lost) (void)story.greets(1, {12, 1}, NodeId{2});
  if (state == Known::lost) (void)story.after(4'000);
  return story;
}

TEST_CASE("roster: what succession adds is answered as listed in each state") {
  Hello leased_elsewhere = hello_of({12, 1}, NodeId{2});
  leased_elsewhere.coordinator = 99;
  Hello wish = hello_of({14, 1}, NodeId{2});
  wish.any_place = true;
  const std::string taken = "n14 asks for the place of node 2, which n12 has";
  struct Row {
    std::string name;
    RosterEvent event;
    std::array<Lines, 4> answers;  // in the order of states
  };
  const std::vector<Row> rows{
      {"the lead changed", LeadChanged{Instant{9'000}, Epoch{3}}, {}},
      {"voters changed",
       VotersChanged{{{Voter{}}}, {}, roster_leader},
       {Lines{}, {}, {"1: 1 voters"}, {"1: 1 voters"}}},
      {"a ballot", Received{{1}, Ballot{Vote{}}}, {}},
      {"greets",
       Received{{2}, hello_of({12, 1}, NodeId{2})},
       {Lines{"2: welcome node 2, 0 voters"},
        {"2: welcome node 2, 0 voters"},
        {"close 1", "2: welcome node 2, 0 voters"},
        {"2: forgotten life 1"}}},
      {"greets, leased by another",
       Received{{2}, leased_elsewhere},
       {Lines{"2: forgotten life 1"},
        {"2: forgotten life 1"},
        {"2: forgotten life 1"},
        {"2: forgotten life 1"}}},
      {"another would like its place",
       Received{{3}, wish},
       {Lines{"3: welcome node 2, 0 voters"},
        {"3: welcome node 4, 0 voters"},
        {"3: welcome node 3, 0 voters"},
        {"3: welcome node 2, 0 voters"}}},
      {"another asks for its place",
       Received{{3}, hello_of({14, 1}, NodeId{2})},
       {Lines{"3: welcome node 2, 0 voters"},
        place_taken(3, taken),
        place_taken(3, taken),
        {"3: welcome node 2, 0 voters"}}},
  };
  for (const Row& row : rows) {
    for (std::size_t state = 0; state < row.answers.size(); ++state) {
      INFO(row.name, " in state ", state);
      RosterStory story = roster_in(static_cast<Known>(state));
      CHECK(story.meets(row.event) == row.answers.at(state));
    }
  }
}

TEST_CASE("roster: an inherited member was silent since the roster began") {
  RosterStory story = roster_in(Known::inherited);
  std::vector<RosterAction> actions;
  story.roster.on_event(Instant{200}, Received{{3}, hello_of({99, 1}, NodeId{2})}, actions);
  REQUIRE(!actions.empty());
  const auto& refusal = std::get<Refused>(std::get<SendDown>(actions[0]).message);
  CHECK(refusal.holder_silent == Millis{200});
}

}  // namespace
}  // namespace ddprun::roster_story
