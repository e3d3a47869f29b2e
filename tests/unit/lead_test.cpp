#include "rendezvous/lead.hpp"

#include "tests/unit/usual_times.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

Voters lead_voters(std::vector<AgentId> agents) {
  Voters voters;
  for (const AgentId agent : agents) voters.all.push_back({agent, NodeId{}, "", ""});
  voters.head = agents.front();
  return voters;
}

TEST_CASE("lead: without anybody who could elect another it lasts for ever") {
  CHECK(Lead(1, usual_times).until() == Lead::forever);
}

TEST_CASE("lead: nobody else is a majority without this process: it lasts for ever") {
  Lead lead(1, usual_times);
  lead.set_electors({lead_voters({1})});
  CHECK(lead.until() == Lead::forever);
  lead.set_electors({lead_voters({1, 2})});
  CHECK(lead.until() == Lead::forever);
  lead.set_electors({lead_voters({2, 1})});  // the other one was the head
  CHECK(lead.until() == Instant{});
}

TEST_CASE("lead: H1 it lasts a lease from the sending of what a majority has answered") {
  Lead lead(1, usual_times);
  lead.set_electors({lead_voters({1, 2, 3, 4, 5})});
  CHECK(lead.until() == Instant{});
  lead.heard(2, Instant{10'000});
  CHECK(lead.until() == Instant{});
  lead.heard(3, Instant{9'000});
  CHECK(lead.until() == Instant{12'000});
  lead.heard(4, Instant{9'500});
  CHECK(lead.until() == Instant{12'500});
  lead.heard(4, Instant{2'000});  // an answer that was held up
  CHECK(lead.until() == Instant{12'500});
  lead.heard(9, Instant{90'000});  // no voter
  CHECK(lead.until() == Instant{12'500});
}

TEST_CASE("lead: H1 where two sets of voters may elect another, both have to be heard") {
  Lead lead(1, usual_times);
  lead.set_electors({lead_voters({1, 2, 3}), lead_voters({1, 4, 5})});
  lead.heard(2, Instant{10'000});
  CHECK(lead.until() == Instant{});
  lead.heard(4, Instant{7'000});
  CHECK(lead.until() == Instant{10'000});
}

TEST_CASE("lead: H1 where voters claim, each of them may lead next: all have to be heard") {
  Lead lead(1, usual_times);
  Voters voters = lead_voters({1, 2, 3});
  voters.claim = true;
  lead.set_electors({voters});
  lead.heard(2, Instant{10'000});
  CHECK(lead.until() == Instant{});
  lead.heard(3, Instant{7'000});
  CHECK(lead.until() == Instant{10'000});
  Voters alone = lead_voters({1});
  alone.claim = true;
  lead.set_electors({alone});
  CHECK(lead.until() == Lead::forever);
}

TEST_CASE("lead: it knows whom it has heard since") {
  Lead lead(1, usual_times);
  lead.heard(2, Instant{5'000});
  CHECK(lead.heard_after(Instant{4'999}, 2));
  CHECK_FALSE(lead.heard_after(Instant{5'000}, 2));
  CHECK_FALSE(lead.heard_after(Instant{}, 3));
  CHECK(lead.heard_after(Instant{90'000}, 1));  // itself, always
}

}  // namespace
}  // namespace ddprun
