#include "rendezvous/succession/settlement.hpp"

#include "tests/unit/rendezvous/succession/succession_kit.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ddprun {
namespace {

using succession_story::voter;
using Next = Settlement::Next;

const std::vector<Voter> three_voters{voter(0), voter(1), voter(2)};

/// Begun at 0 by n0, whose folder has 4 s, and voters 2 s.
Settlement settling() {
  return {Instant{}, voter(0).agent, "/shared", {.dead_after = Millis{4'000}}};
}

Settlement opened(const FolderOpened& opened) {
  Settlement settlement = settling();
  CHECK(settlement.next(Instant{3'999}, three_voters) == Next::wait);
  settlement.opened(opened);
  return settlement;
}

/// All voters have said whether they see it.
Settlement surveyed(const FolderOpened& folder, bool last_sees) {
  Settlement settlement = opened(folder);
  CHECK(settlement.next(Instant{}, three_voters) == Next::survey);
  settlement.count(voter(1).agent, true);
  settlement.count(voter(2).agent, last_sees);
  return settlement;
}

TEST_CASE("settlement: without a folder it is over, and they vote") {
  const Settlement settlement;
  CHECK(settlement.is_over());
  CHECK_FALSE(settlement.has_opened());
  CHECK(settlement.why_votes().empty());
}

TEST_CASE("settlement: they claim where all voters see the folder") {
  Settlement settlement = surveyed({.newest = 5}, true);
  CHECK(settlement.next(Instant{}, three_voters) == Next::claim);
  CHECK(settlement.is_over());
  CHECK(settlement.newest_place() == 5);
  CHECK(settlement.why_votes().empty());
}

TEST_CASE("settlement: whoever does not answer in time does not see it") {
  Settlement settlement = opened({});
  CHECK(settlement.next(Instant{1'000}, three_voters) == Next::survey);
  CHECK(settlement.unanswered() == std::vector{voter(1), voter(2)});
  settlement.count(voter(1).agent, true);
  CHECK(settlement.unanswered() == std::vector{voter(2)});
  CHECK(settlement.next(Instant{2'999}, three_voters) == Next::wait);
  CHECK(settlement.next(Instant{3'000}, three_voters) == Next::vote);
  CHECK(settlement.why_votes().find("n2") != std::string::npos);
}

TEST_CASE("settlement: a folder that hangs or cannot be used is no reason to wait for voters") {
  Settlement hangs = settling();
  CHECK(hangs.next(Instant{4'000}, three_voters) == Next::vote);
  CHECK(hangs.why_votes() == "/shared does not answer");
  Settlement broken = opened({.why = "/shared is read-only"});
  CHECK(broken.next(Instant{}, three_voters) == Next::vote);
  CHECK(broken.why_votes() == "/shared is read-only");
}

TEST_CASE("settlement: other voters are asked anew") {
  Settlement settlement = surveyed({}, true);
  settlement.forget_survey();
  CHECK(settlement.unanswered().empty());
  CHECK(settlement.next(Instant{}, {voter(0), voter(3)}) == Next::survey);
  CHECK(settlement.unanswered() == std::vector{voter(3)});
}

TEST_CASE("settlement: before they vote an earlier job is barred, for as long as the folder has") {
  Settlement settlement = surveyed({.newest = 5, .in_use = true}, false);
  CHECK(settlement.next(Instant{1'000}, three_voters) == Next::bar);
  CHECK(settlement.is_barring());
  CHECK(settlement.next(Instant{4'999}, three_voters) == Next::wait);
  Settlement answered = settlement;
  CHECK(answered.end_bar());
  CHECK_FALSE(answered.end_bar());
  CHECK(settlement.next(Instant{5'000}, three_voters) == Next::vote);
  CHECK_FALSE(settlement.end_bar());
}

}  // namespace
}  // namespace ddprun
