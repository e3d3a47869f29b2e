#include "rendezvous/membership/participant_notes.hpp"

#include "tests/unit/rendezvous/membership/participant_kit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace ddprun {
namespace {

PlaceClaimed claim_that_failed(const std::string& why) {
  return {.record = {}, .why = why, .taken = {}, .may_be_linked = false};
}

TEST_CASE("participant notes: in whose place a host coordinates is said") {
  CHECK(ParticipantNotes("n1").inherits("n0") ==
        "n1 coordinates the job from now on, in place of n0");
}

TEST_CASE("participant notes: who steps down has coordinated a job, or has only begun one") {
  const ParticipantNotes notes("n0");
  CHECK(notes.steps_down(true) ==
        "n0 no longer coordinates the job: too few voters answer it, or another node coordinates");
  CHECK(notes.steps_down(false) == "n0 joins the job that is already running");
  CHECK(notes.resigns() == "n0 leaves the job, and lets another node coordinate it");
}

TEST_CASE("participant notes: who leads is said when it changes") {
  ParticipantNotes notes("n0");
  CHECK(notes.leads("n0 leads") == "n0 leads");
  CHECK(notes.leads("n0 leads") == "");
  CHECK(notes.leads("n0 leads; 2 voters") == "n0 leads; 2 voters");
  CHECK(notes.leads("n0 leads") == "n0 leads");
}

TEST_CASE("participant notes: a voter that is silent is named, with where to look") {
  const Voter voter{3, NodeId{2}, "n2", "n2:1"};
  CHECK(ParticipantNotes("n0").silent(voter) ==
        "n0 gets no answer from n2, a voter, at n2:1: it could not take over if n0 were lost; see "
        "--advertise and --interface of n2");
}

TEST_CASE("participant notes: the end of a lease names workers only where there are some") {
  const ParticipantNotes notes("n0");
  const std::string few = "too few voters answer this node, which coordinates the job";
  CHECK(notes.lease_ended(true, false) == few + ": its workers are killed");
  CHECK(notes.lease_ended(true, true) == few);
  CHECK(
      notes.lease_ended(false, false) ==
      "no answer from the coordinator: this node's workers are killed; looking for a coordinator");
  CHECK(notes.lease_ended(false, true) ==
        "no answer from the coordinator: looking for a coordinator");
}

TEST_CASE("participant notes: why a session was closed is said once, until there is another why") {
  ParticipantNotes notes("n0");
  const auto closed = [&](const std::string& why) { return notes.closed({}, {{1}, why}); };
  CHECK(closed("refused: a") == "refused: a");
  CHECK(closed("refused: a") == "");
  CHECK(closed("") == "");
  CHECK(closed("refused: a") == "");  // what is empty is not what was said last
  CHECK(closed("refused: b") == "refused: b");
  CHECK(notes.leads("refused: b") == "refused: b");  // each kind has its own
}

TEST_CASE("participant notes: of many refusals the first are said, and that there are more") {
  ParticipantNotes notes("n0");
  const auto said_at = [&](std::int64_t ms) {
    int count = 0;
    std::string newest;
    for (int i = 0; i < 1'000; ++i) {
      const std::string said =
          notes.closed(Instant{ms + i}, {{1}, fmt::format("refused: {}", ms + i)});
      if (said.empty()) continue;
      ++count;
      newest = said;
    }
    return fmt::format("{}: {}", count, newest);
  };
  CHECK(said_at(5'000) == "21: refused: 5020; further refusals are not told for a while");
  CHECK(said_at(14'000) == "0: ");
  CHECK(said_at(15'000) == "21: refused: 15020; further refusals are not told for a while");
}

TEST_CASE("participant notes: a mark that cannot be kept is said, with what to do") {
  const ParticipantNotes notes("n1");
  CHECK(notes.kept({}) == "");
  CHECK(notes.kept({"read-only file system"}) ==
        "n1 keeps no mark of this job (read-only file system): if it starts again while it is "
        "cut off from nodes that go on, the job may run twice; give --state-dir a folder on this "
        "node's own disk");
}

TEST_CASE("participant notes: a claim that fails is said once, until one succeeds") {
  ParticipantNotes notes("n0");
  const auto text_with = [](const std::string& why) {
    return "cannot claim the job: " + why +
           "; repair that folder: it is tried again until --replace-timeout is over";
  };
  CHECK(notes.answered(claim_that_failed("/f is gone")) == text_with("/f is gone"));
  CHECK(notes.answered(claim_that_failed("/f is gone")) == "");
  CHECK(notes.answered(ClaimsRead{"/f is gone", {}}) == "");
  CHECK(notes.answered(ClaimsRead{"/f hangs", {}}) == text_with("/f hangs"));
  CHECK(notes.answered(ClaimsRead{}) == "");  // to read is not to claim
  CHECK(notes.answered(claim_that_failed("/f hangs")) == "");
  CHECK(notes.answered(PlaceClaimed{}) == "");
  CHECK(notes.answered(claim_that_failed("/f hangs")) == text_with("/f hangs"));
}

TEST_CASE("participant notes: sixteen reasons why claims fail are said, and no more") {
  ParticipantNotes notes("n0");
  for (int reason = 0; reason < 16; ++reason) {
    CHECK(notes.answered(claim_that_failed(fmt::format("reason {}", reason))) != "");
  }
  CHECK(notes.answered(claim_that_failed("reason 16")) == "");
}

TEST_CASE("participant notes: what the founder's folder answers is said elsewhere") {
  ParticipantNotes notes("n0");
  CHECK(notes.answered(FolderOpened{.why = "/f is gone"}) == "");
  CHECK(notes.answered(ProofSought{}) == "");
}

TEST_CASE("participant notes: who is refused is closed, and people are told why, once") {
  participant_story::ParticipantStory story({participant_story::peer_options(0, 2)});
  Hello hello{{109, 1}, "n9", {}, 1, 2, Millis{9'000}};
  hello.mark = Epoch{1};  // of the same job, which goes on elsewhere perhaps
  CHECK(std::holds_alternative<Note>(story.feed(0, Received{{77}, hello}).back()));
  CHECK(std::holds_alternative<CloseSession>(story.feed(0, Received{{78}, hello}).back()));
  const participant_story::Lines& notes = story.peer(0).notes;
  CHECK(notes.size() == 2);
  CHECK(notes.front().starts_with("a mark on n9 says that this job may still run elsewhere"));
  CHECK(notes.back() == "refused: n9 was started with --dead-after 9s, the coordinator with 4s");
}

TEST_CASE("participant notes: people are told of a voter that long accepts nothing") {
  using participant_story::peer_options;
  participant_story::ParticipantStory story(
      {peer_options(0, 3), peer_options(1, 3), peer_options(2, 3)});
  story.loses_ballots = true;
  for (const int host : {0, 1, 2}) story.joins(host);
  story.loses_ballots = false;
  story.peer(2).is_cut = true;
  story.after(Millis{9'000});
  CHECK(story.peer(0).notes.back().starts_with("n0 gets no answer from n2, a voter, at n2:1"));
}

TEST_CASE(
    "participant notes: nothing starts until the disk has answered, and what is wrong is said") {
  ParticipantOptions options = participant_story::peer_options(0, 1);
  options.keeps_marks = true;
  options.folder = "/f";
  options.coordinator.gathering.spares = 1;  // who keeps marks need not wait for them
  participant_story::ParticipantStory story({options});
  const participant_story::Peer& founder = story.peer(0);
  story.disk_hangs = true;
  story.joins(0);
  story.feed(0, FolderOpened{.why = "/f is gone"});
  CHECK(founder.agent_told.empty());
  story.feed(0, MarkKept{"it is full"});
  CHECK(founder.agent_told.size() == 1);
  CHECK(founder.notes.at(0).starts_with("n0 keeps no mark of this job (it is full)"));
  story.feed(0, ClaimsRead{"/f is gone", {}});
  CHECK(founder.notes.back().starts_with("cannot claim the job: /f is gone"));
  CHECK(std::holds_alternative<DropMark>(story.feed(0, JobOver{true}).front()));
}

}  // namespace
}  // namespace ddprun
