#include "rendezvous/succession/lead.hpp"

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
  CHECK(Lead(1, usual_times, {}).until() == Lead::forever);
}

TEST_CASE("lead: nobody else is a majority without this process: it lasts for ever") {
  CHECK(Lead(1, usual_times, {lead_voters({1})}).until() == Lead::forever);
  CHECK(Lead(1, usual_times, {lead_voters({1, 2})}).until() == Lead::forever);
  // The other one was the head.
  CHECK(Lead(1, usual_times, {lead_voters({2, 1})}).until() == Instant{});
}

TEST_CASE("lead: H1 it lasts a lease from the sending of what a majority has answered") {
  Lead lead(1, usual_times, {lead_voters({1, 2, 3, 4, 5})});
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
  Lead lead(1, usual_times, {lead_voters({1, 2, 3}), lead_voters({1, 4, 5})});
  lead.heard(2, Instant{10'000});
  CHECK(lead.until() == Instant{});
  lead.heard(4, Instant{7'000});
  CHECK(lead.until() == Instant{10'000});
}

TEST_CASE("lead: who may elect nobody any more is forgotten, and who may from now on is not") {
  Lead lead(1, usual_times, {lead_voters({1, 2, 3})});
  lead.heard(2, Instant{10'000});
  lead.heard(4, Instant{10'100});
  CHECK(lead.heard_after(Instant{9'999}, 2));
  lead.change_electors(Instant{10'500}, {lead_voters({1, 3, 4})});
  CHECK_FALSE(lead.heard_after(Instant{9'999}, 2));
  CHECK(lead.heard_after(Instant{9'999}, 4));
  CHECK(lead.heard_after(Instant{9'999}, 1));
  CHECK(lead.until() == Instant{13'100});
}

TEST_CASE("lead: H1 where voters claim, each of them may lead next: all have to be heard") {
  Voters voters = lead_voters({1, 2, 3});
  voters.claim = true;
  Lead lead(1, usual_times, {voters});
  lead.heard(2, Instant{10'000});
  CHECK(lead.until() == Instant{});
  lead.heard(3, Instant{7'000});
  CHECK(lead.until() == Instant{10'000});
  Voters alone = lead_voters({1});
  alone.claim = true;
  CHECK(Lead(1, usual_times, {alone}).until() == Lead::forever);
}

TEST_CASE("lead: H2 new electors, who hear of this later than now, leave it a lease at most") {
  Lead lead(1, usual_times, {});
  lead.change_electors(Instant{10'000}, {lead_voters({2, 3, 1})});
  CHECK(lead.until() == Instant{13'000});
  lead.heard(2, Instant{9'000});
  CHECK(lead.until() == Instant{13'000});
  lead.heard(2, Instant{11'000});
  CHECK(lead.until() == Instant{14'000});
}

TEST_CASE("lead: H2 new electors leave it no more than those before have granted") {
  const Voters before = lead_voters({2, 1});
  Lead lead(1, usual_times, {before});
  lead.heard(2, Instant{8'000});
  lead.change_electors(Instant{10'000}, {before, lead_voters({3, 1})});
  CHECK(lead.until() == Instant{11'000});
  lead.heard(2, Instant{10'500});
  CHECK(lead.until() == Instant{11'000});  // nothing was heard of the new one
  lead.heard(3, Instant{10'100});
  CHECK(lead.until() == Instant{13'100});
}

TEST_CASE("lead: H2 fewer electors leave it what it had") {
  const Voters before = lead_voters({2, 1});
  Lead lead(1, usual_times, {before});
  lead.heard(2, Instant{9'000});
  lead.change_electors(Instant{10'000}, {lead_voters({3, 1})});
  CHECK(lead.until() == Instant{12'000});
}

TEST_CASE("lead: it knows whom it has heard since") {
  Lead lead(1, usual_times, {});
  lead.heard(2, Instant{5'000});
  CHECK(lead.heard_after(Instant{4'999}, 2));
  CHECK_FALSE(lead.heard_after(Instant{5'000}, 2));
  CHECK_FALSE(lead.heard_after(Instant{}, 3));
  CHECK(lead.heard_after(Instant{90'000}, 1));  // itself, always
}

}  // namespace
}  // namespace ddprun
