// The coordinator where voters decide over each generation, and where it inherits one.
#include "rendezvous/generations/coordinator.hpp"
#include "tests/unit/rendezvous/generations/coordinator_kit.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {
namespace {

using namespace job_story;

/// Where voters decide, of two to three nodes; agents have the number of their node and 10.
JobStory deciding() {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 3}, .voters_decide = true});
  for (const int node : {0, 1, 2}) {
    Offer offer = offer_of(node);
    offer.agent = AgentId{10} + static_cast<AgentId>(node);
    offer.contact = offer.host + ":1";
    CHECK(members_of(job.meets(Join{offer, GenerationNumber{0}})).empty());
  }
  return job;
}

/// A process without workers, which has said hello in such a place.
Join witness_join(int place, AgentId agent) {
  Offer offer = offer_of(place, 0);
  offer.witness = true;
  offer.agent = agent;
  offer.contact = "login:1";
  return {offer, GenerationNumber{0}};
}

TEST_CASE("coordinator: a witness votes before the nodes, and is no member") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 2}, .voters_decide = true});
  CHECK(job.meets(witness_join(1'000'000, 77)).empty());
  CHECK(job.joins(0).size() == 1);
  CHECK(job.coordinator.reason() == "waiting: 1 of 2 nodes joined");
  job.joins(1);
  REQUIRE(job.coordinator.proposal());
  CHECK(job.coordinator.proposal()->members.size() == 2);
  REQUIRE(job.coordinator.proposal()->voters.all.size() == 3);
  CHECK(job.coordinator.proposal()->voters.all[0] ==
        Voter{77, NodeId{1'000'000}, "n1000000", "login:1"});
  CHECK(members_of(job.meets(Decided{GenerationNumber{1}})) == std::vector{0, 1});
}

TEST_CASE("coordinator: the witness of an anchored job votes alone") {
  JobStory job(
      {.gathering = {.nodes_min = 2, .nodes_max = 2}, .voters_decide = true, .anchored = true});
  CHECK(job.meets(witness_join(1'000'000, 77)).empty());
  job.joins(0);
  job.joins(1);
  REQUIRE(job.coordinator.proposal());
  CHECK(job.coordinator.proposal()->members.size() == 2);
  CHECK(job.coordinator.proposal()->voters.all ==
        std::vector{Voter{77, NodeId{1'000'000}, "n1000000", "login:1"}});
}

TEST_CASE("coordinator: a witness that comes later votes from the next generation on") {
  JobStory job = deciding();
  job.meets(Decided{GenerationNumber{1}});
  CHECK(job.meets(witness_join(1'000'000, 77)) ==
        Actions{Note{"n1000000 is a witness, and votes from the next generation on"}});
  job.loses(2);
  for (const int node : {0, 1}) job.joins(node, 1);
  REQUIRE(job.coordinator.proposal());
  CHECK(job.coordinator.proposal()->voters.contains(77));
}

TEST_CASE("coordinator: of witnesses the one that came last votes, and none that was lost") {
  JobStory job({.gathering = {.nodes_min = 1, .nodes_max = 1}, .voters_decide = true});
  for (const int number : {0, 1, 2}) {
    job.meets(witness_join(1'000'000 + number, AgentId{70} + static_cast<AgentId>(number)));
  }
  CHECK(job.loses(1'000'002) == Actions{Note{"witness n1000002 was lost: silent for 4 s"}});
  job.joins(0);
  REQUIRE(job.coordinator.proposal());
  CHECK(job.coordinator.proposal()->voters.all.size() == 2);
  CHECK(job.coordinator.proposal()->voters.contains(71));
}

TEST_CASE("coordinator: C6 a witness is told how the job has ended, also when it comes late") {
  JobStory job;
  job.meets(witness_join(1'000'000, 77));
  const Outcome stopped{128 + SIGTERM, "stopped by SIGTERM (15)", {}};
  CHECK(job.is_asked_to_stop({SIGTERM}) == Actions{FinishJob{NodeId{1'000'000}, stopped}});
  CHECK(job.meets(witness_join(1'000'001, 78)) == Actions{FinishJob{NodeId{1'000'001}, stopped}});
}

TEST_CASE("coordinator: C7 where voters decide, a generation starts when they have") {
  JobStory job = deciding();
  REQUIRE(job.coordinator.proposal());
  const Generation proposal = *job.coordinator.proposal();
  CHECK(proposal.number == GenerationNumber{1});
  REQUIRE(proposal.voters.all.size() == 3);
  CHECK(proposal.voters.all[1] == Voter{11, NodeId{1}, "n1", "n1:1"});
  CHECK(job.coordinator.reason() == "generation 1 waits for its 3 voters");
  CHECK(job.meets(Decided{GenerationNumber{9}}).empty());
  CHECK(members_of(job.meets(Decided{GenerationNumber{1}})) == std::vector{0, 1, 2});
  CHECK_FALSE(job.coordinator.proposal());
  CHECK(job.meets(Decided{GenerationNumber{1}}).empty());
}

TEST_CASE("coordinator: that the voters do not agree is said once, after 5 s") {
  JobStory job = deciding();
  CHECK(job.coordinator.next_deadline() == Instant{5'000});
  CHECK(job.waits(Millis{4'999}).empty());
  CHECK(job.waits(Millis{1}) ==
        Actions{Note{"generation 1 waits for its 3 voters: all nodes must be able to connect "
                     "to each other"}});
  CHECK(job.coordinator.next_deadline() == Instant{30'000});
}

/// It ends with `status`, and all nodes are told so.
void check_given_up(const Actions& actions, int status, const std::string& text) {
  REQUIRE_FALSE(actions.empty());
  for (const CoordinatorAction& action : actions) {
    const Outcome& outcome = std::get<FinishJob>(action).outcome;
    CHECK(outcome.exit_status == status);
    CHECK(outcome.text == text);
  }
}

const std::string must_reach =
    " voters for 30 s: all nodes must be able to connect to each other, and must "
    "reach the folder of claims if there is one";

TEST_CASE("coordinator: C7 a first generation that is not decided ends the job, as unavailable") {
  JobStory job = deciding();
  (void)job.waits(Millis{5'000});
  CHECK(job.waits(Millis{24'999}).empty());
  check_given_up(job.waits(Millis{1}), 69, "generation 1 waits for its 3" + must_reach);
  CHECK_FALSE(job.coordinator.next_deadline());
  CHECK(job.meets(Decided{GenerationNumber{1}}).empty());
}

TEST_CASE("coordinator: C7 a later generation that is not decided ends the job, to be run again") {
  JobStory job = deciding();
  (void)job.waits(Millis{29'999});
  (void)job.meets(Decided{GenerationNumber{1}});
  CHECK(job.coordinator.next_deadline() == Instant{59'999});  // what is decided need only last
  (void)job.loses(2);
  for (const int node : {0, 1}) (void)job.joins(node, 1);
  REQUIRE(job.coordinator.proposal());
  (void)job.waits(Millis{5'000});
  CHECK(job.waits(Millis{24'999}).empty());
  check_given_up(job.waits(Millis{1}), 75, "generation 2 waits for its 2" + must_reach);
}

TEST_CASE("coordinator: C7 proposing again and again gives the voters no more time") {
  JobStory job = deciding();
  Offer other = job.coordinator.proposal()->members[0].offer;
  for (std::uint16_t changes = 1; changes <= 5; ++changes) {
    (void)job.waits(Millis{5'000});
    other.store_port = static_cast<std::uint16_t>(5'000 + changes);
    (void)job.meets(Join{other, GenerationNumber{0}});
  }
  CHECK(job.coordinator.proposal()->number == GenerationNumber{6});
  CHECK(job.coordinator.next_deadline() == Instant{30'000});
  (void)job.waits(Millis{4'999});
  check_given_up(job.waits(Millis{1}), 69, "generation 6 waits for its 3" + must_reach);
}

/// What is asked of the voters now.
Actions proposal_of(const JobStory& job, std::int64_t number) {
  REQUIRE(job.coordinator.proposal());
  CHECK(job.coordinator.proposal()->number == GenerationNumber{number});
  return {Propose{*job.coordinator.proposal()}};
}

TEST_CASE("coordinator: a proposal is withdrawn with a member, and its number is not used again") {
  JobStory job = deciding();
  CHECK(job.loses(2).empty());
  CHECK_FALSE(job.coordinator.proposal());  // the first one: there is a last call
  const Actions answer = job.waits(Millis{30'000});
  CHECK(answer == proposal_of(job, 2));
  CHECK(job.coordinator.proposal()->restart_count == 0);
  CHECK(job.meets(Decided{GenerationNumber{1}}).empty());
  CHECK(members_of(job.meets(Decided{GenerationNumber{2}})) == std::vector{0, 1});
}

TEST_CASE(
    "coordinator: a proposal is withdrawn with a voter, too: too few might be left to decide") {
  JobStory job({.gathering = {.nodes_min = 1, .nodes_max = 1}, .voters_decide = true});
  CHECK(job.meets(witness_join(1'000'000, 77)).empty());
  job.joins(0);
  REQUIRE(job.coordinator.proposal());
  CHECK(job.coordinator.proposal()->voters.all.size() == 2);
  (void)job.loses(1'000'000);
  CHECK(job.coordinator.proposal()->number == GenerationNumber{2});
  CHECK(job.coordinator.proposal()->voters.all.size() == 1);
}

TEST_CASE("coordinator: a member that joins with another store while voters decide has it used") {
  JobStory job = deciding();
  Offer other = job.coordinator.proposal()->members[0].offer;
  CHECK(job.meets(Join{other, GenerationNumber{0}}).empty());
  CHECK(job.coordinator.proposal()->number == GenerationNumber{1});  // said twice
  other.store_port = 5000;
  const Actions answer = job.meets(Join{other, GenerationNumber{0}});
  CHECK(answer == proposal_of(job, 2));
  CHECK(job.coordinator.proposal()->members[0].offer.store_port == 5000);
}

TEST_CASE("coordinator: who joins while voters decide is taken in after the start") {
  JobStory job({.gathering = {.nodes_min = 1, .nodes_max = 2, .last_call = Millis{0}},
                .voters_decide = true});
  (void)job.joins(0);
  (void)job.waits(Millis{0});
  REQUIRE(job.coordinator.proposal());
  CHECK(job.joins(1).empty());
  const Actions started = job.meets(Decided{GenerationNumber{1}});
  CHECK(members_of(started) == std::vector{0});
  CHECK(started.back() == CoordinatorAction(stop(1, SIGTERM, Millis{1'000})));
}

TEST_CASE("coordinator: asked to stop while voters decide, it starts nothing") {
  JobStory job = deciding();
  CHECK(job.is_asked_to_stop({SIGINT}).size() == 3);
  CHECK_FALSE(job.coordinator.proposal());
  CHECK(job.meets(Decided{GenerationNumber{1}}).empty());
}

TEST_CASE("coordinator: who inherits a generation ends it first, spends no budget, and says why") {
  JobStory first = deciding();
  Generation record = *first.coordinator.proposal();
  record.failures_count = 2;
  JobStory job;
  job.coordinator = Coordinator({.gathering = {.nodes_min = 2, .nodes_max = 3},
                                 .voters_decide = true,
                                 .restarts = {.count_max = 3}},
                                record,
                                {},
                                "head n0 was lost");
  CHECK(job.coordinator.reason() == "generation 1 ends: 0 of 3 nodes have stopped");
  CHECK(job.joins(1, 0).empty());  // has never started it, and never will
  CHECK(job.joins(2, 1).empty());
  CHECK_FALSE(job.coordinator.proposal());
  const Actions answer = job.loses(0);
  CHECK(answer == proposal_of(job, 2));
  const Generation next = *job.coordinator.proposal();
  CHECK(next.number == GenerationNumber{2});
  CHECK(next.cause == "head n0 was lost");
  CHECK(next.failures_count == 2);
  CHECK(next.restart_count == 1);
  (void)job.meets(Decided{GenerationNumber{2}});
  CHECK(job.joins(1, 1).empty());  // now an old join is no stop any more
}

TEST_CASE("coordinator: where a mark lets the first generation need more nodes, it says that") {
  JobStory job({.gathering = {.nodes_min = 3, .nodes_max = 5}});
  const Actions told = job.meets(MarkFound{"n7"});
  REQUIRE(told.size() == 1);
  CHECK(std::get<Note>(told[0]).text ==
        "a mark on n7 says that this job may still run elsewhere: it starts with 4 nodes, so that "
        "the others cannot run it alone; if no part of it runs, remove the mark or give "
        "--risk-two-jobs");
  CHECK(job.meets(MarkFound{"n8"}).empty());
  for (const int node : {0, 1, 2}) (void)job.joins(node);
  const Actions end = job.waits(Millis{600'000});
  REQUIRE(end.size() == 3);
  CHECK(std::get<FinishJob>(end[0]).outcome.exit_status == 69);
  CHECK(std::get<FinishJob>(end[0]).outcome.text == "3 of at least 4 nodes joined: n0, n1, n2");
}

TEST_CASE("coordinator: a mark that is found late takes back what too few have been proposed for") {
  JobStory job({.gathering = {.nodes_min = 2, .nodes_max = 4, .last_call = Millis{0}},
                .voters_decide = true});
  for (const int node : {0, 1}) (void)job.joins(node);
  REQUIRE(job.coordinator.proposal());
  (void)job.meets(MarkFound{"n0"});
  CHECK_FALSE(job.coordinator.proposal());
  CHECK(job.meets(Decided{GenerationNumber{1}}).empty());
  for (const int node : {2, 3}) (void)job.joins(node);
  REQUIRE(job.coordinator.proposal());
  CHECK(job.coordinator.proposal()->members.size() == 4);
  CHECK(job.coordinator.proposal()->number == GenerationNumber{2});
}

TEST_CASE("coordinator: a mark of a job that runs already changes nothing") {
  JobStory job = deciding();
  (void)job.meets(Decided{GenerationNumber{1}});
  CHECK(job.meets(MarkFound{"n0"}).empty());
}

TEST_CASE("coordinator: C7 the wait for voters is summed, and what lies between does not count") {
  JobStory job = deciding();
  (void)job.meets(Decided{GenerationNumber{1}});
  (void)job.meets(NodeLost{NodeId{2}, "gone"});
  for (const int node : {0, 1}) (void)job.joins(node, 1);
  REQUIRE(job.coordinator.proposal());
  (void)job.waits(Millis{29'000});
  (void)job.meets(NodeLost{NodeId{1}, "gone"});  // too few
  CHECK_FALSE(job.coordinator.proposal());
  (void)job.waits(Millis{20'000});
  (void)job.joins(1, 1);
  REQUIRE(job.coordinator.proposal());
  (void)job.waits(Millis{999});
  CHECK(job.coordinator.state() == Coordinator::State::deciding);
  (void)job.waits(Millis{1});
  CHECK(job.coordinator.state() == Coordinator::State::finished);
}

TEST_CASE("coordinator: C8 nodes that come and go end the job if nothing lasts meanwhile") {
  JobStory job = deciding();
  (void)job.meets(Decided{GenerationNumber{1}});
  std::int64_t number = 1;
  for (int round = 0; round < 40; ++round) {  // each takes 15 s
    (void)job.waits(Millis{15'000});
    (void)job.meets(NodeLost{NodeId{2}, "gone"});
    for (const int node : {0, 1}) (void)job.joins(node, number);
    if (job.coordinator.state() == Coordinator::State::finished) break;
    number = job.coordinator.proposal()->number.value;
    (void)job.meets(Decided{GenerationNumber{number}});
    (void)job.joins(2, number);
    for (const int node : {0, 1}) (void)job.joins(node, number);
    if (job.coordinator.state() == Coordinator::State::finished) break;
    number = job.coordinator.proposal()->number.value;
    (void)job.meets(Decided{GenerationNumber{number}});
  }
  CHECK(job.coordinator.state() == Coordinator::State::finished);
  CHECK(job.coordinator.reason() ==
        "waiting: 2 of 3 nodes joined: nodes have joined and left for 600 s, and no generation of "
        "them has lasted");
  CHECK(job.now == Instant{600'000});
}

TEST_CASE("coordinator: C8 a generation that lasts ends that count") {
  JobStory job = deciding();
  (void)job.meets(Decided{GenerationNumber{1}});
  CHECK(job.coordinator.next_deadline() == Instant{30'000});
  (void)job.waits(Millis{30'000});
  CHECK_FALSE(job.coordinator.next_deadline());
}

TEST_CASE("coordinator: C7 what is decided ends the sum") {
  JobStory job = deciding();
  (void)job.waits(Millis{29'000});
  (void)job.meets(Decided{GenerationNumber{1}});
  (void)job.meets(NodeLost{NodeId{2}, "gone"});
  for (const int node : {0, 1}) (void)job.joins(node, 1);
  REQUIRE(job.coordinator.proposal());
  (void)job.waits(Millis{29'000});
  CHECK(job.coordinator.state() == Coordinator::State::deciding);
}

}  // namespace
}  // namespace ddprun
