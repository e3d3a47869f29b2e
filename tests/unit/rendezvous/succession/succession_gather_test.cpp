// A voter of the newest claim that hears nobody: when it gathers, and when it gives way.
#include "tests/unit/rendezvous/succession/claims_kit.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace ddprun {
namespace {

using namespace claims_story;

const Lines gathers{"unfollow",
                    "take lead, inheriting",
                    "lead until 0",
                    "3 voters",
                    "follow n1",
                    "n0: leading 65538 with 1 whole",
                    "n2: leading 65538 with 1 whole"};

TEST_CASE("succession: a voter that hears nobody for a lease and its turn reads the folder") {
  ClaimsStory first = follower(1);
  CHECK(first.succession.next_deadline() == Instant{3'000});
  CHECK(first.at(2'999).empty());
  CHECK(first.at(3'000) == Lines{"read claims of 1"});
  ClaimsStory second = follower(2);
  CHECK(second.succession.next_deadline() == Instant{3'750});
  ClaimsStory old_head(0);
  (void)old_head.meets(HeardOf{leader_on(1, 8)});
  (void)old_head.is_led(leader_on(1, 8), claim_of({0, 1, 2}));
  CHECK(old_head.succession.next_deadline() == Instant{4'500});  // last
}

TEST_CASE("succession: it gathers once it has read the claim that it knows") {
  ClaimsStory story = follower();
  (void)story.at(3'000);
  story.now = Instant{3'100};
  CHECK(story.reads(claim_of({0, 1, 2})) == gathers);
  CHECK(story.succession.reason() ==
        "n1 leads; if it is lost, any of 2 other voters claims the job in /shared/claims");
}

TEST_CASE("succession: who hears the leader again while it reads does not gather") {
  ClaimsStory story = follower();
  (void)story.at(3'000);
  (void)story.is_led(leader_on(0, 1));
  CHECK(story.reads(claim_of({0, 1, 2})).empty());
  ClaimsStory leased = follower();
  (void)leased.at(3'000);
  (void)leased.meets(LeaderAnswered{});
  CHECK(leased.reads(claim_of({0, 1, 2})).empty());
  CHECK(leased.succession.next_deadline() == Instant{6'000});
}

TEST_CASE("succession: V7 without the proof it does not gather, and reads again later") {
  ClaimsStory story = follower();
  (void)story.at(3'000);
  CHECK(story.succession.next_deadline() == Instant{3'750});
  CHECK(story.reads(std::nullopt).empty());
  CHECK(story.at(3'750) == Lines{"read claims of 1"});
  CHECK(story.reads(claim_of({0, 1, 2})).size() == gathers.size());
}

TEST_CASE("succession: of a folder that hangs one thing is asked at a time") {
  ClaimsStory story = follower();
  CHECK(story.at(3'000).size() == 1);
  CHECK(story.at(3'750).empty());
  CHECK(story.at(4'500).empty());
  CHECK(story.reads(std::nullopt).empty());
  CHECK(story.at(story.succession.next_deadline()->ms) == Lines{"read claims of 1"});
}

TEST_CASE("succession: a newer claim that names it: its head may live, and is given a turn") {
  ClaimsStory story = follower();
  (void)story.at(3'000);
  const Knowledge newer = claim_of({2, 0, 1}, 2);
  CHECK(story.reads(newer) == Lines{"unfollow"});
  CHECK(story.known() == newer);
  CHECK(story.succession.next_deadline() == Instant{3'000 + 3'000 + 750});
  CHECK(story.at(6'750) == Lines{"read claims of 1"});
  CHECK(found_in(story.reads(newer), "take lead, inheriting"));
}

TEST_CASE("succession: V7 a newer claim that does not name it: it joins anew") {
  ClaimsStory story = follower();
  (void)story.at(3'000);
  CHECK(story.reads(claim_of({2, 0}, 2)) == Lines{"unfollow"});
  CHECK_FALSE(story.succession.knowledge());
  CHECK_FALSE(story.succession.next_deadline());
}

TEST_CASE("succession: a claim of the same place by another is a newer one") {
  ClaimsStory story(1);
  (void)story.is_led(leader_on(0, 1), undecided(claim_of({0, 1, 2}, 2)));
  (void)story.at(3'000);
  Knowledge other = claim_of({2, 0, 1}, 2);
  other.record.number = GenerationNumber{5};
  CHECK(story.reads(other) == Lines{"unfollow"});
  CHECK(story.known() == other);
}

TEST_CASE("succession: V7 an older claim than it knows of is no claim to go on from") {
  ClaimsStory story(1);
  (void)story.is_led(leader_on(0, 1), claim_of({0, 1, 2}, 2));
  (void)story.at(3'000);
  CHECK(story.reads(claim_of({0, 1, 2}, 1)).empty());
  CHECK(story.succession.state() == Succession::State::following);
}

TEST_CASE("succession: a claim that it has accepted and that is not there may be on its way") {
  ClaimsStory story(3);
  const Knowledge accepted = undecided(claim_of({0, 1, 3}, 2));
  (void)story.is_led(leader_on(0, 1), accepted);
  (void)story.at(story.succession.next_deadline()->ms);
  CHECK(story.reads(claim_of({0, 1, 2}, 1)).empty());  // it may not claim after that one
  CHECK(story.known() == accepted);
  (void)story.at(story.succession.next_deadline()->ms);
  Knowledge linked = accepted;
  linked.decided = true;
  CHECK(found_in(story.reads(linked), "take lead, inheriting"));
}

TEST_CASE("succession: a claim that it has accepted and that is not there is not waited for") {
  ClaimsStory story(1);
  (void)story.is_led(leader_on(0, 1), undecided(claim_of({0, 1, 2}, 2)));
  (void)story.at(3'000);
  CHECK(found_in(story.reads(claim_of({0, 1, 2}, 1)), "take lead, inheriting"));
  CHECK(story.known() == claim_of({0, 1, 2}, 1));
}

const HeardOf replaces_n0{leader_on(3, 0), leader_on(0, 1).agent};

/// It has accepted n0's first record, and hears that another process is in n0's place.
ClaimsStory bereaved_claimant() {
  ClaimsStory story(1);
  Knowledge first = undecided(claim_of({0, 1, 2}));
  first.before.all.resize(1);
  (void)story.is_led(leader_on(0, 1), first);
  story.now = Instant{500};
  CHECK(story.meets(replaces_n0) == Lines{"read claims of 1"});
  return story;
}

TEST_CASE("succession: who was not told whether its record is claimed reads the folder first") {
  ClaimsStory claimant = bereaved_claimant();
  CHECK(claimant.reads(claim_of({0, 1, 2})) == Lines{"3 voters", "nobody needed"});
  CHECK(claimant.known() == claim_of({0, 1, 2}));
  CHECK(claimant.at(3'000) == Lines{"read claims of 1"});
  CHECK(found_in(claimant.reads(claim_of({0, 1, 2})), "take lead, inheriting"));
  ClaimsStory left_out = bereaved_claimant();
  CHECK(left_out.reads(claim_of({0, 2})) == Lines{"unfollow", "nobody needed"});
}

TEST_CASE("succession: for a lease, again and again, whatever the folder answers at first") {
  for (const bool answers : {true, false}) {
    ClaimsStory story = bereaved_claimant();
    if (answers) CHECK(story.reads(std::nullopt).empty());
    CHECK(story.succession.knowledge().has_value());
    story.now = Instant{1'499};
    CHECK(story.meets(replaces_n0).empty());
    story.now = Instant{3'499};
    CHECK(story.meets(replaces_n0) == (answers ? Lines{"read claims of 1"} : Lines{}));
    story.now = Instant{3'500};
    CHECK(story.meets(replaces_n0) == Lines{"follow n3", "nobody needed"});
    CHECK_FALSE(story.succession.knowledge());
    CHECK(story.reads(claim_of({0, 1, 2})).empty());
  }
}

TEST_CASE("succession: V9 a claim of a job that it has left is not taken up again") {
  ClaimsStory story(1);
  (void)story.is_led(leader_on(0, 1), of_job_founded({Epoch{1}, 1}, claim_of({0, 1, 2}, 1)));
  Leader later = leader_on(2, 5);
  later.founding = {Epoch{5}, later.agent};
  const Knowledge accepted =
      undecided(of_job_founded(later.founding, claimed_in(5, claim_of({2, 1, 0}, 2))));
  (void)story.is_led(later, accepted);
  REQUIRE(story.known() == accepted);
  (void)story.at(story.succession.next_deadline()->ms);
  CHECK(story.reads(of_job_founded({Epoch{1}, 1}, claim_of({0, 1, 2}, 1))).empty());
  CHECK(story.known() == accepted);
  (void)story.at(story.succession.next_deadline()->ms);
  CHECK(story.reads(of_job_founded({Epoch{1}, 1}, claim_of({0, 1, 2}, 2))) == Lines{"unfollow"});
  CHECK_FALSE(story.succession.knowledge());
}

TEST_CASE("succession: an earlier job has claimed the place that was to be its own job's first") {
  ClaimsStory story(1);
  Leader later = leader_on(2, 5);
  later.founding = {Epoch{5}, later.agent};
  (void)story.is_led(
      later, undecided(of_job_founded(later.founding, claimed_in(5, claim_of({2, 1, 0}, 1)))));
  (void)story.at(story.succession.next_deadline()->ms);
  const Knowledge earlier = of_job_founded({Epoch{1}, 1}, claim_of({0, 2}, 1));
  CHECK(story.reads(earlier) == Lines{"unfollow"});
  CHECK_FALSE(story.succession.knowledge());
  Leader head = leader_on(0, 9);
  head.founding = earlier.record.founding;
  CHECK(story.meets(HeardOf{head}) == Lines{"follow n0"});
}

TEST_CASE("succession: who was told of no folder never gathers") {
  SuccessionStory story(1);
  (void)story.is_led(leader_on(0, 1), claim_of({0, 1, 2}));
  CHECK_FALSE(story.succession.next_deadline());
  CHECK(story.at(60'000).empty());
}

TEST_CASE("succession: who has workers does not gather") {
  ClaimsStory story = follower();
  (void)story.meets(WorkersStarted{});
  CHECK_FALSE(story.succession.next_deadline());
}

TEST_CASE("succession: several may gather at once, and no two of them in one epoch") {
  std::set<std::int64_t> epochs;
  for (const int node : {0, 1, 2, 3, 4, 5, 6}) {
    ClaimsStory story(node);
    const Leader lost_head = leader_on(7, 1);
    (void)story.meets(HeardOf{lost_head});  // n0 gives way
    const Knowledge claim = claim_of({0, 1, 2, 3, 4, 5, 6});
    (void)story.is_led(lost_head, claim);
    (void)story.at(story.succession.next_deadline()->ms);
    std::vector<SuccessionAction> actions;
    story.succession.on_event(story.now, FolderAnswer(ClaimsRead{"", claim}), actions);
    for (const SuccessionAction& action : actions) {
      if (const auto* lead = std::get_if<TakeLead>(&action))
        epochs.insert(lead->leader.epoch.value);
    }
  }
  CHECK(epochs.size() == 7);
  CHECK(*epochs.begin() > 1);
}

TEST_CASE("succession: without a lead it goes on gathering, and reads the folder each second") {
  ClaimsStory story = gatherer();  // at 3000
  const Lines told{"n0: leading 65538 with 1 whole", "n2: leading 65538 with 1 whole"};
  CHECK(story.at(3'500) == told);
  Lines and_reads = told;
  and_reads.emplace_back("read claims of 1");
  CHECK(story.at(4'000) == and_reads);
  CHECK(story.at(4'500) == told);
  CHECK(story.at(5'000) == told);  // it hangs
  CHECK(story.reads(claim_of({0, 1, 2})).empty());
  CHECK(story.at(5'500) == told);
  CHECK(story.at(6'000) == and_reads);
  CHECK(story.succession.state() == Succession::State::leading);
}

TEST_CASE("succession: who gathers for long and is answered by nobody lets others try, twice") {
  ClaimsStory story = gatherer();  // at 3000; a node counts as lost after 4 s
  for (int count = 0; count < 2; ++count) {
    const std::int64_t since = story.now.ms;
    for (std::int64_t ms = since + 500; ms < since + 8'000; ms += 500) (void)story.at(ms);
    CHECK(story.succession.state() == Succession::State::leading);
    CHECK(story.at(since + 8'000).back() == "unfollow");
    CHECK(story.succession.state() == Succession::State::following);
    CHECK(story.succession.next_deadline() == Instant{since + 8'000 + 6'000 + 4'000});
    const Leading stale{leader_on(2, 8), Instant{since}, {}, false, 0, {}};
    for (const bool looks_again : {false, true}) {
      (void)story.reads(claim_of({0, 1, 2}));  // asked for before
      CHECK(story.succession.next_deadline() == Instant{since + 8'000 + 6'000 + 4'000});
      story.now = Instant{since + 10'000};
      if (!looks_again) CHECK(story.hears(stale).front() == "read claims of 1");
    }
    (void)story.at(since + 18'000);
    (void)story.reads(claim_of({0, 1, 2}));
  }
  CHECK(story.succession.state() == Succession::State::leading);
  (void)story.at(story.now.ms + 60'000);
  CHECK(story.succession.state() == Succession::State::leading);
}

TEST_CASE("succession: who gathered in vain twice and then cannot claim lets others try as well") {
  ClaimsStory story = gatherer();
  for (int count = 0; count < 2; ++count) {
    const std::int64_t since = story.now.ms;
    for (std::int64_t ms = since + 500; ms <= since + 8'000; ms += 500) (void)story.at(ms);
    (void)story.reads(claim_of({0, 1, 2}));
    (void)story.at(since + 18'000);
    (void)story.reads(claim_of({0, 1, 2}));
  }
  REQUIRE(story.succession.state() == Succession::State::leading);
  (void)story.proposes({1, 2}, 2);
  const std::int64_t third_epoch = first_epoch(1) + 2 * 65'536;
  CHECK(story.is_followed(2, third_epoch, story.now).back() == "claim 2 with 2 for n1 n2");
  (void)story.has_not_reached();
  (void)story.at(story.now.ms + 3'500);
  CHECK(story.has_not_reached() == Lines{"step down", "unfollow"});
}

TEST_CASE("succession: who gathers and is answered by one, waits for the others") {
  ClaimsStory story = gatherer();
  for (std::int64_t ms = 3'500; ms < 40'000; ms += 500) {
    (void)story.is_followed(2, first_epoch(1), Instant{ms - 500});
    (void)story.at(ms);
  }
  CHECK(story.succession.state() == Succession::State::leading);
}

TEST_CASE("succession: who is answered by nobody waits all the same where all are needed") {
  for (const auto& [nodes_min, state] :
       {std::pair(2, Succession::State::following), std::pair(3, Succession::State::leading)}) {
    ClaimsStory story = gatherer(1, nodes_min);
    for (std::int64_t ms = 3'500; ms <= 11'000; ms += 500) (void)story.at(ms);
    CHECK(story.succession.state() == state);
  }
}

TEST_CASE("succession: who was held up while it gathered counts only the time that it was not") {
  ClaimsStory story = gatherer();
  for (std::int64_t ms = 20'000; ms < 27'500; ms += 500) (void)story.at(ms);
  CHECK(story.succession.state() == Succession::State::leading);
  (void)story.at(27'500);
  CHECK(story.succession.state() == Succession::State::following);
}

TEST_CASE("succession: who gathers when the job is over goes on telling so") {
  ClaimsStory story = gatherer();
  (void)story.meets(JobOver{});
  for (std::int64_t ms = 3'500; ms < 40'000; ms += 500) (void)story.at(ms);
  CHECK(story.succession.state() == Succession::State::leading);
}

TEST_CASE("succession: while it leads it does not read the folder") {
  ClaimsStory story = gatherer();
  for (const int node : {0, 2}) (void)story.is_followed(node, first_epoch(1), Instant{3'000});
  CHECK(story.succession.lead_end() == Instant{6'000});
  for (std::int64_t ms = 3'500; ms < 6'000; ms += 500) CHECK(story.at(ms).size() == 2);
  CHECK(story.at(6'000).back() == "read claims of 1");
}

TEST_CASE("succession: a gatherer claims with who is left") {
  ClaimsStory story = gatherer();
  (void)story.proposes({1, 2}, 2);
  CHECK(story.is_followed(2, first_epoch(1), Instant{3'000}).back() == "claim 2 with 2 for n1 n2");
  CHECK(story.succession.lead_end() == Instant{});  // n0 may claim as well
  (void)story.has_claimed();
  CHECK(story.succession.lead_end() == Instant{6'000});
}

TEST_CASE("succession: a gatherer that reads a newer claim steps down") {
  ClaimsStory named = gatherer();
  (void)named.at(4'000);
  CHECK(named.reads(claim_of({2, 1}, 2)) == Lines{"step down", "unfollow"});
  CHECK(named.known() == claim_of({2, 1}, 2));
  ClaimsStory unnamed = gatherer();
  (void)unnamed.at(4'000);
  CHECK(unnamed.reads(claim_of({2, 0}, 2)) == Lines{"step down", "unfollow"});
  CHECK_FALSE(unnamed.succession.next_deadline());
}

Ballot leading_of(int node, std::int64_t epoch, const Knowledge& claim) {
  return Leading{leader_on(node, epoch), Instant{77}, claim.id(), true, claim.claimed(), claim};
}

TEST_CASE(
    "succession: of two that gather the later in order gives way, and the record's head to none") {
  const Knowledge claim = claim_of({0, 1, 2});
  ClaimsStory second = gatherer(2);
  const Millis beat = usual_times.heartbeat;
  CHECK(second.hears(leading_of(1, 16, claim)) == Lines{"n1: refuse 65539"});
  CHECK(second.hears(leading_of(1, 16, claim)) == Lines{"n1: refuse 65539"});  // held up as well
  second.now = second.now + beat;
  CHECK(second.hears(leading_of(1, 16, claim)) ==
        Lines{"step down", "unfollow", "follow n1", "n1: following 16 with 1"});
  ClaimsStory first = gatherer(1);
  CHECK(first.hears(leading_of(2, 17, claim)) == Lines{"n2: refuse 65538"});
  (void)first.hears(leading_of(0, 18, claim));
  first.now = first.now + beat;
  CHECK(first.hears(leading_of(0, 18, claim)).front() == "step down");
  ClaimsStory to_stranger = gatherer(2);
  CHECK(to_stranger.hears(leading_of(5, 16, claim)) == Lines{"n5: refuse 65539"});
}

TEST_CASE("succession: who is refused for an older claim than its voters' asks their leader") {
  ClaimsStory story(3);
  (void)story.is_led(leader_on(0, 1), claim_of({0, 3}, 2));
  CHECK(story.hears(leading_of(1, 16, claim_of({1, 3}, 1))) == Lines{"n1: refuse 1, n0 leads"});
  ClaimsStory outdated = gatherer(1);
  const Refusal refusal{voter(2).agent, Epoch{1}, leader_on(5, 1)};
  CHECK(outdated.hears(refusal).empty());
  CHECK(outdated.hears(refusal).empty());
  CHECK(outdated.hears(Refusal{voter(0).agent, Epoch{1}, leader_on(0, 1)}).empty());   // itself
  CHECK(outdated.hears(Refusal{voter(0).agent, Epoch{1}, leader_on(1, 16)}).empty());  // n1
  const Lines lines = outdated.at((outdated.now + usual_times.heartbeat).ms);
  CHECK(std::ranges::count(lines, "n5: leading 65538 with 1") == 1);  // once
}

TEST_CASE("succession: who has a lead gives way to nobody that gathers") {
  ClaimsStory story = gatherer(2);
  for (const int node : {0, 1}) (void)story.is_followed(node, first_epoch(2), story.now);
  CHECK(story.hears(leading_of(1, 16, claim_of({0, 1, 2}))) == Lines{"n1: refuse 65539"});
}

TEST_CASE("succession: who gathers gives way to whoever has claimed a newer place") {
  ClaimsStory story = gatherer(1);
  CHECK(story.hears(leading_of(2, 17, claim_of({2, 1}, 2))).front() == "step down");
  ClaimsStory ahead(2);
  (void)ahead.is_led(leader_on(0, 1), claim_of({0, 1, 2}, 2));
  (void)ahead.at(3'750);
  (void)ahead.reads(claim_of({0, 1, 2}, 2));
  CHECK(ahead.hears(leading_of(1, 16, claim_of({0, 1, 2}, 1))) ==
        Lines{"n1: leading 65539 with 2"});  // n1 may not see the folder any more
}

TEST_CASE("succession: nobody that gathers gives way while its claim is on its way") {
  ClaimsStory story = gatherer(2);
  (void)story.proposes({2}, 2);
  CHECK(story.hears(leading_of(1, 16, claim_of({0, 1, 2}))) == Lines{"n1: refuse 65539"});
  ClaimsStory tried = story;
  (void)story.has_not_reached();
  (void)story.hears(leading_of(1, 16, claim_of({0, 1, 2})));
  story.now = story.now + usual_times.heartbeat;
  CHECK(story.hears(leading_of(1, 16, claim_of({0, 1, 2}))).front() == "step down");
  (void)tried.may_have_claimed();
  CHECK(tried.hears(leading_of(1, 16, claim_of({0, 1, 2}))) == Lines{"n1: refuse 65539"});
  CHECK(tried.hears(leading_of(1, 17, claim_of({1, 2}, 3))).front() == "step down");
}

TEST_CASE("succession: a follower stays with the gatherer that it hears") {
  ClaimsStory story(3);
  const Knowledge claim = claim_of({0, 1, 2, 3});
  (void)story.is_led(leader_on(2, 10), claim);
  story.now = Instant{2'999};
  CHECK(story.hears(leading_of(1, 16, claim)) == Lines{"n1: refuse 10"});
  CHECK(story.hears(leading_of(1, 16, claim_of({1, 3}, 2))).front() == "follow n1");
  ClaimsStory bereaved(3);
  (void)bereaved.is_led(leader_on(2, 10), claim);
  bereaved.now = Instant{3'000};
  CHECK(bereaved.hears(leading_of(1, 16, claim)).front() == "follow n1");
  ClaimsStory busy(3);
  (void)busy.is_led(leader_on(2, 10), claim);
  (void)busy.meets(WorkersStarted{});
  busy.now = Instant{3'000};
  CHECK(busy.hears(leading_of(1, 16, claim)) == Lines{"n1: refuse 10"});
}

TEST_CASE("succession: V7 nobody follows a gatherer of an older claim than was seen") {
  ClaimsStory story(3);
  const Knowledge older = claim_of({0, 1, 3});
  (void)story.is_led(leader_on(0, 1), older);
  (void)story.at(story.succession.next_deadline()->ms);
  (void)story.reads(claimed_in(9, claim_of({0, 1}, 2)));  // which does not name it
  story.now = Instant{60'000};
  CHECK(story.hears(leading_of(1, 70'000, older)) == Lines{"n1: refuse 1"});
  CHECK(story.hears(leading_of(1, 70'000, claim_of({0, 1}, 2))).front() == "follow n1");
}

TEST_CASE("succession: who gathers asks for no votes, and raises its epoch by itself") {
  ClaimsStory story = gatherer();
  (void)story.hears(Refusal{voter(2).agent, Epoch{70'000}});
  CHECK(story.at(3'500) ==
        Lines{"n0: leading 65538 with 1 whole", "n2: leading 65538 with 1 whole", "lead until 0"});
  CHECK(story.at(4'000).front() == "n0: leading 131074 with 1 whole");
}

}  // namespace
}  // namespace ddprun
