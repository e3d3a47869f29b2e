#include "rendezvous/succession/pledge.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

VoteRequest request_of(AgentId candidate, std::int64_t epoch) {
  VoteRequest request;
  request.candidate.agent = candidate;
  request.epoch = Epoch{epoch};
  return request;
}
Leader leader_of(AgentId agent, std::int64_t epoch) {
  return {agent, "", "", Epoch{epoch}, Epoch{epoch}};
}

TEST_CASE("pledge: P1 one vote in an epoch, which may be said again") {
  Pledge pledge;
  CHECK(pledge.allows(Instant{0}, request_of(1, 2)));
  pledge.vote(Instant{3'000}, Epoch{2}, 1);
  CHECK(pledge.allows(Instant{100}, request_of(1, 2)));
  CHECK_FALSE(pledge.allows(Instant{9'000}, request_of(2, 2)));
  CHECK_FALSE(pledge.allows(Instant{9'000}, request_of(2, 1)));
  CHECK(pledge.allows(Instant{9'000}, request_of(2, 3)));
}

TEST_CASE("pledge: P1 an epoch that was voted in is not used for a leader of a lower one either") {
  Pledge pledge;
  pledge.vote(Instant{3'000}, Epoch{4}, 1);
  SUBCASE("the candidate gave up") {
    pledge.release(Epoch{4}, 1);
  }
  SUBCASE("the leader is dead") {
    pledge.forget_leader();
  }
  pledge.follow(leader_of(5, 2));
  CHECK_FALSE(pledge.allows(Instant{9'000}, request_of(5, 4)));
  CHECK(pledge.allows(Instant{9'000}, request_of(5, 5)));
}

TEST_CASE("pledge: P2 a vote binds for its time, but for the same candidate") {
  Pledge pledge;
  pledge.vote(Instant{3'000}, Epoch{2}, 1);
  CHECK(pledge.binds(Instant{2'999}, 2));
  CHECK_FALSE(pledge.binds(Instant{2'999}, 1));
  CHECK_FALSE(pledge.allows(Instant{2'999}, request_of(2, 3)));
  CHECK(pledge.allows(Instant{2'999}, request_of(1, 3)));
  CHECK(pledge.allows(Instant{3'000}, request_of(2, 3)));
}

TEST_CASE("pledge: P2 a candidate that gave up binds nobody, and its epoch is not used again") {
  Pledge pledge;
  pledge.vote(Instant{3'000}, Epoch{2}, 1);
  pledge.release(Epoch{2}, 9);
  pledge.release(Epoch{1}, 1);
  CHECK(pledge.binds(Instant{0}, 2));
  pledge.release(Epoch{2}, 1);
  CHECK_FALSE(pledge.binds(Instant{0}, 2));
  CHECK_FALSE(pledge.allows(Instant{0}, request_of(2, 2)));
  CHECK(pledge.allows(Instant{0}, request_of(2, 3)));
}

TEST_CASE("pledge: P3 after a vote nobody of a lower epoch is followed, until it is void") {
  Pledge pledge;
  pledge.follow(leader_of(5, 2));
  CHECK(pledge.epoch() == Epoch{2});
  pledge.vote(Instant{3'000}, Epoch{4}, 1);
  CHECK_FALSE(pledge.allows(leader_of(5, 2)));
  CHECK_FALSE(pledge.allows(leader_of(1, 3)));
  CHECK(pledge.allows(leader_of(1, 4)));
  CHECK(pledge.allows(leader_of(7, 5)));
  pledge.release(Epoch{4}, 1);
  CHECK(pledge.allows(leader_of(5, 2)));
  CHECK_FALSE(pledge.allows(leader_of(6, 1)));
  CHECK(pledge.epoch() == Epoch{4});
}

TEST_CASE("pledge: who follows votes in no epoch up to the leader's") {
  Pledge pledge;
  pledge.follow(leader_of(5, 4));
  CHECK_FALSE(pledge.allows(Instant{0}, request_of(1, 4)));
  CHECK(pledge.allows(Instant{0}, request_of(1, 5)));
  pledge.follow(leader_of(6, 3));  // is over
  CHECK_FALSE(pledge.allows(leader_of(6, 3)));
}

TEST_CASE("pledge: who abstains is bound to nobody") {
  Pledge pledge;
  pledge.abstain(Instant{3'000});
  CHECK_FALSE(pledge.allows(Instant{2'999}, request_of(1, 5)));
  CHECK(pledge.allows(Instant{3'000}, request_of(1, 5)));
  CHECK(pledge.until() == Instant{3'000});
}

}  // namespace
}  // namespace ddprun
