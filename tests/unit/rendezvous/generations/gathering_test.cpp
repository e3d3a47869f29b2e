#include "rendezvous/generations/gathering.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace ddprun {
namespace {

using Answer = Gathering::Answer;

constexpr GatheringOptions two_to_four{.nodes_min = 2,
                                       .nodes_max = 4,
                                       .join_timeout = Millis{60'000},
                                       .last_call = Millis{10'000},
                                       .replace_timeout = Millis{30'000}};

Gathering gathering_of(const std::vector<int>& nodes, GatheringOptions options = two_to_four) {
  Gathering gathering(options);
  for (const int node : nodes) gathering.add({NodeId{node}, "n" + std::to_string(node)});
  return gathering;
}

std::vector<int> taken_from(Gathering& gathering,
                            const Generation& last,
                            const SetAside& aside = {}) {
  std::vector<int> nodes;
  for (const Offer& offer : gathering.take_members(last, aside)) nodes.push_back(offer.node.value);
  return nodes;
}

TEST_CASE(
    "gathering: a coordinator that may replace another waits until that one's leases are over") {
  GatheringOptions options = two_to_four;
  options.last_call = Millis{0};
  options.quiet = Millis{4'000};
  Gathering some = gathering_of({0, 1}, options);
  CHECK(some.ask_first(Instant{100}) == Answer::wait);
  CHECK(some.next_deadline() == Instant{4'100});
  CHECK(some.ask_first(Instant{4'100}) == Answer::start);
  CHECK(gathering_of({0, 1, 2, 3}, options).ask_first(Instant{100}) == Answer::start);
}

TEST_CASE(
    "gathering: nodes that are expected are waited for once there are enough, and only once") {
  Gathering gathering = gathering_of({0});
  gathering.expect(7);  // of which four may take part
  CHECK(gathering.ask_next(Instant{0}) == Answer::wait);
  CHECK(gathering.next_deadline() == Instant{30'000});
  gathering.add({NodeId{1}});
  CHECK(gathering.ask_next(Instant{5'000}) == Answer::wait);
  CHECK(gathering.next_deadline() == Instant{6'000});
  gathering.remove(NodeId{1});
  CHECK(gathering.ask_next(Instant{5'500}) == Answer::wait);
  CHECK(gathering.next_deadline() == Instant{35'500});
  for (const int node : {1, 2}) gathering.add({NodeId{node}});
  CHECK(gathering.ask_next(Instant{6'000}) == Answer::wait);
  CHECK(gathering.ask_next(Instant{6'999}) == Answer::wait);
  Gathering all = gathering;
  all.add({NodeId{3}});
  CHECK(all.ask_next(Instant{6'999}) == Answer::start);
  CHECK(gathering.ask_next(Instant{7'000}) == Answer::start);
  (void)taken_from(gathering, {});
  for (const int node : {0, 1}) gathering.add({NodeId{node}});
  CHECK(gathering.ask_next(Instant{8'000}) == Answer::start);
}

TEST_CASE("gathering: when all who are allowed are there, it starts at once") {
  CHECK(gathering_of({0, 1, 2, 3}).ask_first(Instant{0}) == Answer::start);
  CHECK(gathering_of({0, 1, 2, 3, 4}).ask_first(Instant{0}) == Answer::start);
}

TEST_CASE("gathering: with enough nodes it starts after the last call, which is not repeated") {
  Gathering gathering = gathering_of({0});
  CHECK(gathering.ask_first(Instant{1'000}) == Answer::wait);
  CHECK(gathering.next_deadline() == Instant{61'000});
  gathering.add({NodeId{1}});
  CHECK(gathering.ask_first(Instant{5'000}) == Answer::wait);
  CHECK(gathering.next_deadline() == Instant{15'000});
  gathering.add({NodeId{2}});
  CHECK(gathering.ask_first(Instant{9'000}) == Answer::wait);
  CHECK(gathering.next_deadline() == Instant{15'000});
  CHECK(gathering.ask_first(Instant{14'999}) == Answer::wait);
  CHECK(gathering.ask_first(Instant{15'000}) == Answer::start);
}

TEST_CASE("gathering: a node that goes takes the last call with it") {
  Gathering gathering = gathering_of({0, 1});
  CHECK(gathering.ask_first(Instant{0}) == Answer::wait);
  gathering.remove(NodeId{1});
  CHECK(gathering.ask_first(Instant{10'000}) == Answer::wait);
  CHECK(gathering.next_deadline() == Instant{60'000});
  gathering.add({NodeId{2}});
  CHECK(gathering.ask_first(Instant{20'000}) == Answer::wait);
  CHECK(gathering.next_deadline() == Instant{30'000});
}

TEST_CASE("gathering: without enough nodes it gives up in time, and not with enough") {
  Gathering few = gathering_of({0});
  CHECK(few.ask_first(Instant{0}) == Answer::wait);
  CHECK(few.ask_first(Instant{59'999}) == Answer::wait);
  CHECK(few.ask_first(Instant{60'000}) == Answer::give_up);

  Gathering late = gathering_of({0});
  CHECK(late.ask_first(Instant{0}) == Answer::wait);
  late.add({NodeId{1}});
  CHECK(late.ask_first(Instant{59'000}) == Answer::wait);
  CHECK(late.ask_first(Instant{60'000}) == Answer::wait);
  CHECK(late.ask_first(Instant{69'000}) == Answer::start);
}

TEST_CASE("gathering: survivors start at once, and wait for a replacement only when too few") {
  CHECK(gathering_of({0, 3}).ask_next(Instant{0}) == Answer::start);
  Gathering few = gathering_of({3});
  CHECK(few.ask_next(Instant{1'000}) == Answer::wait);
  CHECK(few.next_deadline() == Instant{31'000});
  CHECK(few.ask_next(Instant{31'000}) == Answer::give_up);
}

TEST_CASE("gathering: members of the last generation come before others, in order of nodes") {
  Generation last;
  for (const int node : {2, 5, 7}) last.members.push_back({Offer{NodeId{node}}, Rank{0}});
  Gathering gathering = gathering_of({0, 1, 2, 5, 6, 7});
  CHECK(taken_from(gathering, last) == std::vector{0, 2, 5, 7});
  CHECK(gathering.ready().size() == 2);  // spares
  CHECK(gathering.contains(NodeId{1}));
  CHECK(gathering.contains(NodeId{6}));
}

TEST_CASE("gathering: each forming has patience of its own") {
  Gathering gathering = gathering_of({0, 1});
  CHECK(gathering.ask_first(Instant{0}) == Answer::wait);
  (void)gathering.take_members({}, {});
  CHECK_FALSE(gathering.next_deadline());
  gathering.add({NodeId{0}});
  CHECK(gathering.ask_next(Instant{100'000}) == Answer::wait);
  CHECK(gathering.next_deadline() == Instant{130'000});
}

/// Where marks are kept, and the first generation waits 15 s for what may be left of a job.
GatheringOptions marking() {
  GatheringOptions options = two_to_four;
  options.keeps_marks = true;
  options.last_call = Millis{1'000};
  options.quiet = Millis{15'000};
  return options;
}

TEST_CASE("gathering: where no mark says that the job may run, it waits for the last call alone") {
  Gathering some = gathering_of({0, 1}, marking());
  CHECK(some.ask_first(Instant{0}) == Answer::wait);
  CHECK(some.next_deadline() == Instant{1'000});
  CHECK(some.ask_first(Instant{1'000}) == Answer::start);
}

TEST_CASE("gathering: a mark lets the first generation need more nodes than later ones") {
  GatheringOptions options = marking();
  options.nodes_min = 3;
  options.nodes_max = 5;
  Gathering three = gathering_of({0, 1, 2}, options);
  CHECK(three.heed_mark(0));
  CHECK_FALSE(three.heed_mark(0));  // once
  CHECK(three.needed_first() == 4);
  CHECK(three.ask_first(Instant{0}) == Answer::wait);
  CHECK(three.next_deadline() == Instant{60'000});
  CHECK(three.ask_next(Instant{0}) == Answer::start);
  three.add({NodeId{3}});
  CHECK(three.ask_first(Instant{2'000}) == Answer::wait);
  CHECK(three.ask_first(Instant{16'999}) == Answer::wait);
  CHECK(three.ask_first(Instant{17'000}) == Answer::start);
  three.add({NodeId{4}});
  CHECK(three.ask_first(Instant{2'000}) == Answer::start);
}

TEST_CASE("gathering: with a mark, spares count among the nodes that may run the job") {
  GatheringOptions options = marking();
  options.nodes_min = 4;
  options.spares = 2;
  Gathering four = gathering_of({0, 1, 2, 3}, options);
  CHECK(four.heed_mark(0));
  CHECK(four.needed_first() == 5);
}

TEST_CASE("gathering: who takes the risk founds with few, but still waits for what may be left") {
  GatheringOptions options = marking();
  options.heeds_marks = false;
  Gathering two = gathering_of({0, 1}, options);
  CHECK_FALSE(two.heed_mark(0));
  CHECK(two.needed_first() == 2);
  CHECK(two.ask_first(Instant{0}) == Answer::wait);
  CHECK(two.next_deadline() == Instant{15'000});
}

TEST_CASE("gathering: with a mark, who was started again counts once until it is sure") {
  Gathering four = gathering_of({}, marking());
  for (const int node : {0, 1, 2, 3}) {
    four.add({.node = NodeId{node}, .contact = node == 3 ? "n1:5001" : fmt::format("n{}:1", node)});
  }
  (void)four.heed_mark(0);
  CHECK(four.ask_first(Instant{0}) == Answer::wait);
  four.remove(NodeId{1});  // it was the dead one
  CHECK(four.ask_first(Instant{4'000}) == Answer::wait);
  four.add({.node = NodeId{4}, .contact = "n4:1"});
  CHECK(four.ask_first(Instant{5'000}) == Answer::start);
}

TEST_CASE("gathering: why enough nodes do not start yet is told") {
  Gathering four = gathering_of({}, two_to_four);
  const auto asked_with = [&](int node, const std::string& contact) {
    four.add({.node = NodeId{node}, .contact = contact});
    CHECK(four.ask_first(Instant{0}) == Answer::wait);
    return four.why_not_yet();
  };
  CHECK(asked_with(0, "n0:1").empty());
  CHECK(asked_with(1, "n1:1") == "the last call for more");
  CHECK(asked_with(2, "n2:1") == "the last call for more");
  CHECK(
      asked_with(3, "n1:2") ==
      "several agents are on one machine and may be one node twice: the job starts after the last "
      "call");
  CHECK(four.ask_first(*four.next_deadline()) == Answer::start);
  (void)four.take_members({}, {});
  CHECK(four.why_not_yet().empty());
}

TEST_CASE("gathering: agents that share one machine on purpose are all there at once") {
  GatheringOptions options = marking();
  options.heeds_marks = false;
  Gathering four = gathering_of({}, options);
  for (const int node : {0, 1, 2, 3}) {
    four.add({.node = NodeId{node}, .contact = fmt::format("127.0.0.1:{}", node + 1)});
  }
  (void)four.heed_mark(0);
  CHECK(four.ask_first(Instant{0}) == Answer::start);
}

TEST_CASE("gathering: with a mark, each node that is needed has been there for as long") {
  GatheringOptions options = marking();
  options.nodes_max = 5;
  options.nodes_min = 3;
  Gathering four = gathering_of({0, 1, 2, 3}, options);
  (void)four.heed_mark(0);
  CHECK(four.ask_first(Instant{0}) == Answer::wait);
  four.remove(NodeId{3});
  CHECK(four.ask_first(Instant{9'000}) == Answer::wait);
  four.add({NodeId{3}});  // it may have been elsewhere
  CHECK(four.ask_first(Instant{10'000}) == Answer::wait);
  CHECK(four.ask_first(Instant{24'999}) == Answer::wait);
  CHECK(four.ask_first(Instant{25'000}) == Answer::start);
}

TEST_CASE("gathering: where more may come, the first start waits for what may be left of a job") {
  GatheringOptions options = two_to_four;
  options.spares = 1;
  options.quiet = Millis{15'000};
  Gathering most = gathering_of({0, 1, 2, 3}, options);
  CHECK(most.ask_first(Instant{0}) == Answer::wait);
  CHECK(most.ask_first(Instant{14'999}) == Answer::wait);
  CHECK(most.ask_first(Instant{15'000}) == Answer::start);
  CHECK(gathering_of({0, 1, 2, 3, 4}, options).ask_first(Instant{0}) == Answer::start);
  CHECK(gathering_of({0, 1}, options).ask_next(Instant{0}) == Answer::start);
}

TEST_CASE("gathering: who is set aside is taken only for want of others") {
  SetAside aside;
  aside.outlived_kill(NodeId{0});
  aside.outlived_kill(NodeId{3});
  Gathering enough = gathering_of({0, 1, 2, 3});
  CHECK(taken_from(enough, {}, aside) == std::vector{1, 2});
  Gathering few = gathering_of({0, 2, 3});
  CHECK(few.count_without(aside) == 1);
  CHECK(few.hosts_without(aside) == "n2");
  Generation last;
  last.members.push_back({{NodeId{3}}, Rank{0}});
  CHECK(taken_from(few, last, aside) == std::vector{2, 3});
}

}  // namespace
}  // namespace ddprun
