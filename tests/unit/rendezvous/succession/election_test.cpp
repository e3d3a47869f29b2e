#include "rendezvous/succession/election.hpp"

#include "tests/unit/usual_times.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

Voters voters_of(std::vector<AgentId> agents) {
  Voters voters;
  for (const AgentId agent : agents) voters.all.push_back({agent, NodeId{}, "", ""});
  voters.head = agents.front();
  return voters;
}

TEST_CASE("election: it asks at once, each twelfth of the lease again, and for half a lease") {
  Election election(2, Epoch{5}, Instant{1'000}, usual_times);
  CHECK(election.ask_at() == Instant{1'000});
  election.asked(Instant{1'000});
  CHECK(election.ask_at() == Instant{1'250});
  CHECK(election.ends_at() == Instant{2'500});
}

TEST_CASE("election: it is won with a majority of all who have to agree") {
  const std::vector<Voters> one{voters_of({1, 2, 3})};
  const std::vector<Voters> two{voters_of({1, 2, 3}), voters_of({2, 4, 5})};
  Election election(2, Epoch{5}, Instant{}, usual_times);
  CHECK_FALSE(election.won(one));
  election.count(Instant{100}, Vote{3, Epoch{4}, Instant{}});  // of another attempt
  CHECK_FALSE(election.won(one));
  election.count(Instant{100}, Vote{3, Epoch{5}, Instant{}});
  CHECK(election.won(one));
  CHECK_FALSE(election.won(two));
  election.count(Instant{300}, Vote{4, Epoch{5}, Instant{250}});
  CHECK(election.won(two));
  CHECK(election.last_vote() == Instant{300});
}

TEST_CASE("election: a promise counts from the newest request that was answered") {
  Election election(2, Epoch{5}, Instant{}, usual_times);
  election.count(Instant{400}, Vote{3, Epoch{5}, Instant{250}});
  election.count(Instant{500}, Vote{3, Epoch{5}, Instant{0}});  // was held up
  CHECK(election.votes() == std::map<AgentId, Instant>{{2, Instant{0}}, {3, Instant{250}}});
}

TEST_CASE("election: for a higher epoch all votes are asked for anew, in the same time") {
  Election election(2, Epoch{5}, Instant{}, usual_times);
  election.count(Instant{100}, Vote{3, Epoch{5}, Instant{}});
  election.raise(Instant{250}, Epoch{8});
  CHECK(election.epoch() == Epoch{8});
  CHECK(election.votes().size() == 1);
  CHECK(election.ends_at() == Instant{1'500});
}

}  // namespace
}  // namespace ddprun
