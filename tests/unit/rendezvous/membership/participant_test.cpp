#include "rendezvous/membership/participant.hpp"

#include "tests/unit/rendezvous/membership/participant_kit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <tuple>
#include <vector>

namespace ddprun {
namespace {

using namespace participant_story;

ParticipantStory peers_of(int hosts) {
  std::vector<ParticipantOptions> all;
  for (int host = 0; host < hosts; ++host) all.push_back(peer_options(host, hosts));
  return ParticipantStory(all);
}

/// All of them run the first generation.
ParticipantStory peers_that_run(int hosts) {
  ParticipantStory story = peers_of(hosts);
  for (int host = 0; host < hosts; ++host) story.joins(host);
  return story;
}

/// Of one that is not in the story, to a job of two.
Hello hello_of_n9(Epoch knows = {}, Millis dead_after = usual_times.dead_after) {
  Hello hello{{109, 1}, "n9", {}, 1, 2, dead_after};
  hello.knows = knows;
  return hello;
}

template <typename What>
std::vector<What> those_of(const Participant::Actions& actions) {
  std::vector<What> found;
  for (const ParticipantAction& action : actions) {
    if (const auto* what = std::get_if<What>(&action)) found.push_back(*what);
  }
  return found;
}

bool was_noted(const Peer& peer, const std::string& start) {
  return std::ranges::any_of(peer.notes, [&](const auto& note) { return note.starts_with(start); });
}

TEST_CASE("participant: who founds takes the lead, and lets its own agent in over one session") {
  ParticipantStory story = peers_of(2);
  CHECK(story.peer(0).participant.coordinator() != nullptr);
  CHECK(story.peer(1).participant.coordinator() == nullptr);
  for (const int host : {0, 1}) CHECK(story.sessions_count(host, 0) == 1);
  for (const int host : {0, 1}) CHECK(story.peer(host).lease == Instant{3'000});
  CHECK(story.peer(0).will_is_for.empty());  // it dies with its own coordinator
  CHECK(story.peer(1).will_is_for == "n0:1");
  story.after(Millis{2'000});
  for (const int host : {0, 1}) CHECK(story.peer(host).lease == Instant{5'000});
}

TEST_CASE("participant: a founder whose port another process has looks for the job there") {
  ParticipantOptions late = peer_options(1, 2);
  late.founds = late.is_at_endpoint = true;
  late.port_taken = "n0:1";
  ParticipantStory story({peer_options(0, 2), late});
  CHECK(was_noted(story.peer(1), "another process listens at n0:1: looking"));
  CHECK(story.peer(1).participant.coordinator() == nullptr);
  CHECK(story.peer(1).lease == Instant{3'000});
}

TEST_CASE("participant: a member takes another port where its own is taken") {
  ParticipantOptions member = peer_options(1, 2);
  member.port_taken = "n1:1";
  ParticipantStory story({peer_options(0, 2), member});
  CHECK(story.peer(1).notes.empty());
  CHECK(story.peer(1).lease == Instant{3'000});
}

TEST_CASE("participant: a generation starts everywhere, once its voters have accepted it") {
  ParticipantStory story = peers_of(3);
  story.loses_ballots = true;
  for (const int host : {0, 1, 2}) story.joins(host);
  CHECK(story.peer(0).participant.coordinator()->state() == Coordinator::State::deciding);
  for (const int host : {0, 1, 2}) CHECK(story.peer(host).agent_told.empty());
  CHECK(was_noted(story.peer(0), "waiting: 2 of 3 nodes joined: n0, n1"));
  story.loses_ballots = false;
  story.after(Millis{500});
  for (const int host : {0, 1, 2}) CHECK(story.peer(host).agent_told == Lines{"start 1 of 3"});
  CHECK(was_noted(story.peer(0), "n0 leads; if it is lost, 2 voters elect another"));
}

TEST_CASE("participant: of a head that ends with its script nobody is told what its loss means") {
  std::vector<ParticipantOptions> all{peer_options(0, 2), peer_options(1, 2), peer_options(2, 2)};
  for (ParticipantOptions& each : all) each.coordinator.anchored = true;
  all.front().witness = true;
  ParticipantStory story(all);
  for (const int host : {0, 1, 2}) story.joins(host);
  for (const int host : {1, 2}) CHECK(story.peer(host).agent_told == Lines{"start 1 of 2"});
  CHECK_FALSE(was_noted(story.peer(0), "n0 leads"));
}

TEST_CASE("participant: a node that is silent is lost, and the others go on without it") {
  ParticipantStory story = peers_that_run(2);
  story.peer(1).is_cut = true;
  story.after(Millis{5'000});
  CHECK(story.peer(0).agent_told == Lines{"start 1 of 2", "stop 1"});
  CHECK(story.peer(1).agent_told == Lines{"start 1 of 2", "lease ended"});
  CHECK(was_noted(story.peer(1), "no answer from the coordinator: this node's workers are killed"));
  story.joins(0, 1);
  CHECK(story.peer(0).agent_told == Lines{"start 1 of 2", "stop 1", "start 2 of 1"});
  story.feed(1, TellNews{StopRequested{SIGTERM}});
  CHECK(
      story.peer(1).agent_told.back() ==
      "give up: stopped by SIGTERM (15); what was saved is kept: run again; this node was waiting "
      "for a coordinator: no answer from n0:1");
}

TEST_CASE("participant: what it waits for is its coordinator, or what that one waits for") {
  ParticipantStory story = peers_of(2);
  CHECK(story.peer(0).participant.waits() == Wait::nodes);
  CHECK(story.peer(0).participant.waits_for() == "nodes: 0 of 2 have joined: none");
  CHECK(story.peer(1).participant.waits() == Wait::nothing);
  CHECK(story.peer(1).participant.waits_for().empty());
  story.peer(1).is_cut = true;
  story.after(Millis{5'000});
  CHECK(story.peer(1).participant.waits() == Wait::coordinator);
  CHECK(story.peer(1).participant.waits_for() == "a coordinator: no answer from n0:1");
}

TEST_CASE("participant: another one coordinates in place of a head that is lost") {
  ParticipantStory story = peers_that_run(3);
  story.peer(0).is_cut = true;
  story.after(Millis{6'000});
  CHECK(was_noted(story.peer(1), "n1 coordinates the job from now on, in place of n0"));
  CHECK(story.peer(1).participant.coordinator() != nullptr);
  CHECK(story.sessions_count(2, 1) == 1);
  for (const int host : {1, 2}) {
    CHECK(story.peer(host).agent_told == Lines{"start 1 of 3", "lease ended", "life ended"});
    story.joins(host, 1);
  }
  for (const int host : {1, 2}) CHECK(story.peer(host).agent_told.back() == "start 2 of 2");
  CHECK(story.peer(2).participant.coordinator() == nullptr);
  CHECK(story.peer(2).participant.succession().knowledge()->record.cause == "head n0 was lost");
}

TEST_CASE("participant: nobody is elected while workers live that the lost head has started") {
  ParticipantStory story = peers_that_run(3);
  for (const int host : {1, 2}) story.feed(host, WorkersStarted{});
  story.peer(0).is_cut = true;
  story.after(Millis{10'000});
  for (const int host : {1, 2}) CHECK(story.peer(host).participant.coordinator() == nullptr);
  for (const int host : {1, 2}) story.feed(host, WorkersGone{});
  story.after(Millis{10'000});
  CHECK(story.peer(1).participant.coordinator() != nullptr);
}

TEST_CASE("participant: who steps down closes its sessions, and its lease ends with the lead") {
  ParticipantStory story = peers_that_run(3);
  Peer& head = story.peer(0);
  head.is_cut = true;
  story.after(Millis{2'999});
  CHECK(head.lease == Instant{3'000});
  story.now = Instant{3'000};
  story.feed(0, LookAtLease{});
  CHECK(was_noted(head, "too few voters answer this node, which coordinates the job: its workers"));
  const auto actions = story.feed(0, Timeout{});
  CHECK(those_of<CloseSession>(actions).size() == 3);
  CHECK(those_of<Disconnect>(actions).size() == 1);
  CHECK(head.participant.coordinator() == nullptr);
  CHECK(head.agent_told == Lines{"start 1 of 3", "lease ended"});
  CHECK(was_noted(head, "n0 no longer coordinates the job: too few voters answer it"));
}

TEST_CASE("participant: who steps down while its coordinator proposes starts nothing") {
  ParticipantStory story = peers_that_run(3);
  story.joins(2, 1);
  story.joins(1, 1);
  story.peer(0).is_cut = true;
  story.now = Instant{3'000};  // it was held up: its timers have not told it yet
  story.joins(0, 1);
  CHECK(story.peer(0).participant.coordinator() == nullptr);
  CHECK(story.peer(0).agent_told == Lines{"start 1 of 3", "stop 1", "lease ended"});
}

TEST_CASE(
    "participant: a hello is the succession's matter first, which lets it in or sends it on") {
  std::vector<ParticipantOptions> all{peer_options(0, 2), peer_options(1, 2)};
  for (ParticipantOptions& each : all) {
    each.coordinator.gathering.spares = 1;
    each.coordinator.gathering.last_call = Millis{0};
  }
  ParticipantStory story(all);
  for (const int host : {0, 1}) story.joins(host);
  story.after(Millis{0});
  story.peer(0).seen.clear();
  const auto led = those_of<SendDown>(story.feed(0, Received{{77}, hello_of_n9()}));
  CHECK(std::get<Welcome>(led.at(0).message).record.number == GenerationNumber{1});
  CHECK(story.peer(0).seen == "+S-S+R-R");
  const auto sent = those_of<SendDown>(story.feed(1, Received{{77}, hello_of_n9()}));
  CHECK(std::get<Redirect>(sent.at(0).message).leader->host == "n0");
  CHECK(story.feed(1, Received{{77}, Heartbeat{1, 0}}).empty());
}

/// Also by who cannot tell whether it is true: the sender waits for nothing else.
TEST_CASE("participant: the end of its session answers a will, which the leader alone heeds") {
  std::vector<ParticipantOptions> all{peer_options(0, 2), peer_options(1, 2)};
  all[1].secret = {7};
  ParticipantStory story(all);
  for (const int host : {0, 1}) story.joins(host);
  const Will unknown{109, {7}};
  const Will known{101, {7}};
  for (const int host : {1, 0}) {
    for (const Will& will : {unknown, known}) {
      CHECK(story.peer(0).agent_told == Lines{"start 1 of 2"});
      const auto closed = those_of<CloseSession>(story.feed(host, Received{{77}, will}));
      REQUIRE(closed.size() == 1);
      CHECK(closed[0].session == SessionId{77});
    }
  }
  CHECK(story.peer(0).agent_told == Lines{"start 1 of 2", "stop 1"});
}

TEST_CASE("participant: whose a connection is, is looked up here, by the leader and by others") {
  ParticipantStory story = peers_of(2);
  const OwnersAsked question{3, {{{{}, 29'500}, {{}, 40'000}}}};
  for (const int host : {0, 1}) {
    const Participant::Actions actions = story.feed(host, Received{{77}, question});
    REQUIRE(actions.size() == 1);
    CHECK(std::get<LookUpOwners>(actions[0]).session == SessionId{77});
    CHECK(std::get<LookUpOwners>(actions[0]).question == question);
  }
}

TEST_CASE("participant: a founder gives way to a job that lives, and closes what is still open") {
  ParticipantStory story = peers_of(2);
  story.feed(0, Received{{76}, hello_of_n9({}, Millis{9'000})});  // is refused
  story.feed(0, Received{{77}, hello_of_n9()});
  story.feed(0, SessionClosed{{77}});
  const auto actions = story.feed(0, Received{{78}, hello_of_n9(Epoch{2})});
  CHECK(those_of<CloseSession>(actions).size() == 3);  // this one, and both agents'
  CHECK(story.peer(0).participant.coordinator() == nullptr);
  CHECK(story.peer(0).notes.back() == "n0 joins the job that is already running");
}

TEST_CASE("participant: at the job's end who coordinates waits until all others know it") {
  ParticipantStory story = peers_that_run(2);
  for (int host : {0, 1}) story.feed(host, TellNews{WorkerSucceeded{{1}, {host}}});
  story.joins(1, 1);
  story.peer(1).is_cut = true;
  story.joins(0, 1);
  CHECK(story.peer(0).agent_told.back() == "finish: all workers ended with success");
  story.feed(0, JobOver{true});
  story.after(Millis{1'000});
  CHECK(story.peer(0).all_told_count == 0);
  story.peer(1).is_cut = false;
  story.after(Millis{1'000});
  CHECK(story.peer(1).agent_told.back() == "finish: all workers ended with success");
  CHECK(those_of<AllTold>(story.feed(1, JobOver{true})).size() == 1);  // nobody waits for it
  story.after(Millis{1'000});
  for (const int host : {0, 1}) CHECK(story.peer(host).all_told_count == 1);
}

TEST_CASE("participant: a look at the lease ends one that is over, and changes nothing before") {
  ParticipantStory story = peers_of(2);
  story.now = Instant{2'999};
  CHECK(story.feed(1, LookAtLease{}).empty());
  story.now = Instant{3'000};
  const auto actions = story.feed(1, LookAtLease{});
  CHECK(std::holds_alternative<Note>(actions.at(0)));
  CHECK(std::holds_alternative<TellAgent>(actions.at(1)));
  CHECK(story.peer(1).agent_told == Lines{"lease ended"});
  CHECK(story.feed(1, LookAtLease{}).empty());
}

TEST_CASE("participant: it is to be called when the first of its machines is due") {
  ParticipantOptions options = peer_options(0, 2);
  options.coordinator.gathering.last_call = Millis{70};
  ParticipantStory story({options, peer_options(1, 2)});
  const Participant& head = story.peer(0).participant;
  CHECK(head.next_deadline() == Instant{0});                         // to say that it leads
  CHECK(story.peer(1).participant.next_deadline() == Instant{500});  // to beat
  story.after(Millis{100});
  story.joins(0);
  CHECK(head.next_deadline() == Instant{170});  // to start without the other one
  story.after(Millis{70});
  CHECK(story.peer(0).agent_told == Lines{"start 1 of 1"});
  CHECK(head.next_deadline() == Instant{500});  // to see who is silent
}

TEST_CASE("participant: its observer sees what a machine answers before that is acted on") {
  ParticipantStory story = peers_of(2);
  CHECK(story.peer(1).seen.find("+U-U+S-S+U-U") != std::string::npos);  // of whom it follows then
  std::string& seen = story.peer(0).seen;
  seen.clear();
  story.feed(0, Timeout{});
  CHECK(seen == "+S-S+U-U+R-R+C-C");
  story.joins(1);
  seen.clear();
  story.joins(0);
  CHECK(seen.starts_with("+U-U+R-R+C-C+S-S"));
}

TEST_CASE("participant: what means nothing is not answered, and changes nothing") {
  ParticipantStory story = peers_that_run(2);
  const std::vector<ParticipantEvent> all{Received{{99}, Heartbeat{1, 0}},
                                          Received{{99}, Numbered<News>{1, Join{}}},
                                          SessionClosed{{99}},
                                          ConnectionUp{{99}, "n0:1"},
                                          ConnectionDown{{99}, "reset"},
                                          Heard{{99}, Ack{1, 0, {3'000}}},
                                          MarkKept{},
                                          MarkKept{},
                                          WorkersGone{},
                                          PlaceClaimed{}};
  for (const int host : {0, 1}) {
    const Participant& at = story.peer(host).participant;
    const auto before = std::tuple(at.uplink(), at.succession(), at.next_deadline());
    for (const ParticipantEvent& event : all) CHECK(story.feed(host, event).empty());
    CHECK(before == std::tuple(at.uplink(), at.succession(), at.next_deadline()));
  }
}

}  // namespace
}  // namespace ddprun
