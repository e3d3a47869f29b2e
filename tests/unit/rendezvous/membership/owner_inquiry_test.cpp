#include "rendezvous/membership/owner_inquiry.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ddprun {
namespace {

constexpr Millis patience{3'000};
constexpr std::uint16_t agent_port = 7'000;
const std::string not_ours = "whose process belongs to uid 7";

IpAddress address(int number) {
  return *parse_ip_address(fmt::format("10.0.{}.{}", number / 250, number % 250 + 1));
}

std::string agent_at(int number) {
  return fmt::format("{}:{}", text_of(address(number)), agent_port);
}

IpConnection from(int number, std::uint16_t port = 40'000) {
  return {{address(200), 29'500}, {address(number), port}};
}

/// The nodes 0, 1, … with one address each.
std::vector<StorePeer> nodes(int count) {
  std::vector<StorePeer> all;
  for (int i = 0; i < count; ++i) all.push_back({agent_port, {address(i)}});
  return all;
}

/// The nodes 0 and 1, which share the address 9.
std::vector<StorePeer> sharers() {
  return {{agent_port, {address(0), address(9)}}, {agent_port, {address(1), address(9)}}};
}

/// What an inquiry has done, and the machine.
struct Inquiry {
  explicit Inquiry(const std::vector<StorePeer>& peers) : machine(peers, {patience}) {}

  void meets(const OwnerInquiryEvent& event) {
    std::vector<OwnerInquiryAction> actions;
    machine.on_event(now, event, actions);
    for (const OwnerInquiryAction& each : actions) {
      if (const auto* connect = std::get_if<Connect>(&each)) {
        open[connect->connection] = connect->address;
      } else if (const auto* end = std::get_if<Disconnect>(&each)) {
        CHECK(open.erase(end->connection) == 1);
        asked.erase(end->connection);
      } else if (const auto* send = std::get_if<SendUp>(&each)) {
        CHECK(open.contains(send->connection));
        CHECK_FALSE(asked.contains(send->connection));  // J2
        asked[send->connection] = std::get<OwnersAsked>(send->message);
      } else {
        const auto& found = std::get<OwnerFound>(each);
        CHECK(judged.emplace(found.held.value, found.objection).second);  // J1
      }
    }
    CHECK(open.size() <= OwnerInquiryOptions{}.lines_max);
  }
  void wants(std::int64_t held, const IpConnection& connection) {
    meets(OwnerWanted{{held}, connection});
  }
  void comes_up(ConnectionId id) { meets(ConnectionUp{id, open.at(id)}); }
  void goes_down(ConnectionId id, const std::string& why) {
    open.erase(id);
    asked.erase(id);
    meets(ConnectionDown{id, why});
  }
  void answers(ConnectionId id, std::vector<std::string> objections) {
    const std::int64_t number = asked.at(id).number;
    asked.erase(id);
    meets(Heard{id, OwnersTold{number, std::move(objections)}});
  }
  void after(Millis time) {
    now = now + time;
    meets(Timeout{});
  }
  [[nodiscard]] ConnectionId line_to(int number) const {
    const auto found =
        std::ranges::find(open, agent_at(number), [](const auto& entry) { return entry.second; });
    return found == open.end() ? ConnectionId{} : found->first;
  }

  OwnerInquiry machine;
  Instant now{1'000};
  std::map<ConnectionId, std::string> open;
  std::map<ConnectionId, OwnersAsked> asked;  // and not answered
  std::map<std::int64_t, std::string> judged;
};

TEST_CASE("owner inquiry: the agent of a connection's address is asked, and its answer counts") {
  Inquiry inquiry(nodes(3));
  CHECK_FALSE(inquiry.machine.next_deadline());
  inquiry.wants(5, from(1));
  const ConnectionId line = inquiry.line_to(1);
  REQUIRE(inquiry.open.size() == 1);
  CHECK(inquiry.asked.empty());
  inquiry.comes_up(line);
  CHECK(inquiry.asked.at(line).connections == std::vector{from(1)});
  inquiry.answers(line, {""});
  CHECK(inquiry.judged == std::map<std::int64_t, std::string>{{5, ""}});
  CHECK_FALSE(inquiry.machine.next_deadline());
  inquiry.wants(6, from(1, 40'001));  // over the same line
  CHECK(inquiry.open.size() == 1);
  inquiry.answers(line, {not_ours});
  CHECK(inquiry.judged.at(6) == not_ours);
}

TEST_CASE("owner inquiry: what comes during a question is asked in the next one") {
  Inquiry inquiry(nodes(1));
  inquiry.wants(1, from(0, 1));
  const ConnectionId line = inquiry.line_to(0);
  inquiry.comes_up(line);
  for (std::uint16_t i = 2; i <= 301; ++i) inquiry.wants(i, from(0, i));
  CHECK(inquiry.asked.at(line).connections.size() == 1);
  inquiry.answers(line, {""});
  CHECK(inquiry.asked.at(line).connections.size() == OwnersAsked::connections_max);
  inquiry.answers(line, std::vector<std::string>(OwnersAsked::connections_max));
  CHECK(inquiry.asked.at(line).connections.size() == 44);
  CHECK(inquiry.asked.at(line).connections.back() == from(0, 301));
  inquiry.answers(line, std::vector<std::string>(44, not_ours));
  CHECK(inquiry.judged.size() == 301);
  CHECK(inquiry.judged.at(257).empty());
  CHECK(inquiry.judged.at(258) == not_ours);
}

TEST_CASE("owner inquiry: of agents with the same address, one that knows the user is enough") {
  for (const bool second_knows : {false, true}) {
    CAPTURE(second_knows);
    Inquiry inquiry(sharers());
    inquiry.wants(1, from(9));
    for (const int agent : {0, 1}) inquiry.comes_up(inquiry.line_to(agent));
    inquiry.answers(inquiry.line_to(0), {"which is no process there"});
    CHECK(inquiry.judged.empty());
    inquiry.answers(inquiry.line_to(1), {second_knows ? "" : not_ours});
    CHECK(inquiry.judged.at(1) == (second_knows ? "" : not_ours));
  }
}

TEST_CASE("owner inquiry: of many agents with the same address some are asked") {
  std::vector<StorePeer> peers = nodes(20);
  for (StorePeer& each : peers) each.addresses.push_back(address(90));
  Inquiry inquiry(peers);
  inquiry.wants(1, from(90));
  CHECK(inquiry.open.size() == OwnerInquiry::sharers_max);
}

TEST_CASE("owner inquiry: the answer of a slower sharer changes nothing") {
  Inquiry inquiry(sharers());
  inquiry.wants(1, from(9));
  for (const int agent : {0, 1}) inquiry.comes_up(inquiry.line_to(agent));
  inquiry.answers(inquiry.line_to(1), {""});
  CHECK(inquiry.judged.at(1).empty());
  inquiry.answers(inquiry.line_to(0), {not_ours});
  CHECK(inquiry.judged.at(1).empty());
}

TEST_CASE("owner inquiry: a node whose agent cannot be asked is refused at once") {
  std::vector<StorePeer> peers = nodes(2);
  peers[1].agent_port = 0;
  Inquiry inquiry(peers);
  inquiry.wants(1, from(1));
  inquiry.wants(2, from(77));
  CHECK(inquiry.judged.at(1) == "of whose node no agent can be asked for its user");
  CHECK(inquiry.judged.at(2) == inquiry.judged.at(1));
  CHECK(inquiry.open.empty());
}

TEST_CASE("owner inquiry: after the end of a connection the question is put again") {
  Inquiry inquiry(nodes(1));
  inquiry.wants(1, from(0, 1));
  const ConnectionId first = inquiry.line_to(0);
  inquiry.comes_up(first);
  inquiry.goes_down(first, "Connection reset by peer");
  CHECK(inquiry.open.empty());
  inquiry.wants(2, from(0, 2));
  CHECK(inquiry.open.empty());  // not before the pause is over
  CHECK(inquiry.machine.next_deadline() == inquiry.now + OwnerInquiry::pause);
  inquiry.after(OwnerInquiry::pause);
  const ConnectionId second = inquiry.line_to(0);
  CHECK(second > first);
  inquiry.comes_up(second);
  CHECK(inquiry.asked.at(second).connections == std::vector{from(0, 1), from(0, 2)});
  inquiry.meets(Heard{first, OwnersTold{1, {""}}});  // late: nobody waits for it
  CHECK(inquiry.judged.empty());
  inquiry.answers(second, {"", ""});
  CHECK(inquiry.judged.size() == 2);
}

TEST_CASE("owner inquiry: a connection is refused once its agent is silent for too long") {
  Inquiry inquiry(nodes(2));
  inquiry.wants(1, from(0));
  inquiry.comes_up(inquiry.line_to(0));
  inquiry.after(Millis{1'000});
  inquiry.wants(2, from(1));
  inquiry.goes_down(inquiry.line_to(1), "Connection refused");
  CHECK(inquiry.machine.next_deadline() == inquiry.now + OwnerInquiry::pause);
  inquiry.after(Millis{1'999});
  CHECK(inquiry.judged.empty());
  inquiry.after(Millis{1});
  const std::string not_answered =
      "of whose user nothing is known: the agent at 10.0.0.{}:7000 has not "
      "answered for 3 s ({})";
  CHECK(inquiry.judged.at(1) == fmt::format(fmt::runtime(not_answered), 1, "it is silent"));
  inquiry.goes_down(inquiry.line_to(1), "No route to host");
  inquiry.after(Millis{1'000});
  CHECK(inquiry.judged.at(2) == fmt::format(fmt::runtime(not_answered), 2, "No route to host"));
  for (int i = 0; i < 4; ++i) inquiry.after(OwnerInquiry::pause);
  CHECK_FALSE(inquiry.machine.next_deadline());
}

TEST_CASE("owner inquiry: a question without an answer is put again over another connection") {
  Inquiry inquiry(sharers());
  inquiry.wants(1, from(9));
  for (const int agent : {0, 1}) inquiry.comes_up(inquiry.line_to(agent));
  inquiry.answers(inquiry.line_to(1), {""});
  CHECK(inquiry.judged.size() == 1);
  const ConnectionId silent = inquiry.line_to(0);
  inquiry.wants(2, from(0));
  inquiry.after(patience / 2);
  CHECK_FALSE(inquiry.open.contains(silent));
  inquiry.after(OwnerInquiry::pause);
  const ConnectionId next = inquiry.open.rbegin()->first;
  inquiry.comes_up(next);
  CHECK(inquiry.asked.at(next).connections == std::vector{from(0)});
}

TEST_CASE("owner inquiry: an agent is looked for where its node's connection came from, too") {
  Inquiry inquiry(sharers());
  inquiry.wants(1, from(9));
  const ConnectionId first = inquiry.line_to(0);
  REQUIRE(first != ConnectionId{});
  inquiry.goes_down(first, "Connection refused");
  inquiry.after(OwnerInquiry::pause);
  const ConnectionId second = inquiry.line_to(9);
  REQUIRE(second != ConnectionId{});
  inquiry.goes_down(second, "Connection refused");
  inquiry.after(OwnerInquiry::pause);
  const ConnectionId third = inquiry.line_to(0);
  REQUIRE(third != ConnectionId{});
  inquiry.comes_up(third);
  inquiry.answers(third, {""});
  CHECK(inquiry.judged.at(1).empty());
}

TEST_CASE("owner inquiry: nobody is asked about a connection that the store has closed") {
  Inquiry inquiry(nodes(1));
  for (std::uint16_t i = 1; i <= 3; ++i) inquiry.wants(i, from(0, i));
  inquiry.meets(OwnerUnwanted{{1}});
  inquiry.meets(OwnerUnwanted{{3}});
  inquiry.meets(OwnerUnwanted{{77}});
  const ConnectionId line = inquiry.line_to(0);
  inquiry.comes_up(line);
  CHECK(inquiry.asked.at(line).connections == std::vector{from(0, 2)});
  inquiry.meets(OwnerUnwanted{{2}});
  inquiry.answers(line, {""});
  CHECK(inquiry.judged.empty());
  CHECK_FALSE(inquiry.machine.next_deadline());
}

TEST_CASE("owner inquiry: an answer that is none ends its connection") {
  const std::vector<ToAgent> wrong = {
      OwnersTold{2, {""}}, OwnersTold{1, {}}, OwnersTold{1, {"", ""}}, Redirect{}};
  for (const ToAgent& each : wrong) {
    CAPTURE(each.index());
    Inquiry inquiry(nodes(1));
    inquiry.wants(1, from(0));
    const ConnectionId line = inquiry.line_to(0);
    inquiry.comes_up(line);
    inquiry.meets(Heard{line, each});
    CHECK(inquiry.judged.empty());
    CHECK(inquiry.open.empty());
    inquiry.after(patience);
    CHECK(inquiry.judged.at(1).ends_with("(what it says is no answer)"));
  }
}

TEST_CASE("owner inquiry: many agents have their turns, and an idle connection is kept till then") {
  constexpr int count = 100;
  constexpr auto lines = static_cast<int>(OwnerInquiryOptions{}.lines_max);
  Inquiry inquiry(nodes(count));
  for (int i = 0; i < count; ++i) inquiry.wants(i + 1, from(i));
  CHECK(inquiry.open.size() == OwnerInquiryOptions{}.lines_max);
  for (int i = 0; i < count; ++i) {
    const ConnectionId line = inquiry.line_to(i);
    REQUIRE(line != ConnectionId{});
    inquiry.comes_up(line);
    inquiry.answers(line, {""});
  }
  CHECK(inquiry.judged.size() == count);
  CHECK(inquiry.open.size() == lines);
}

/// Agents and the network at their worst.
TEST_CASE("owner inquiry: whatever happens, each connection is judged once, and in time") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::vector<StorePeer> peers = nodes(80);
    for (StorePeer& each : peers) {
      if (random() % 3 == 0) each.addresses.push_back(address(static_cast<int>(90 + random() % 4)));
    }
    Inquiry inquiry(peers);
    std::map<std::int64_t, Instant> came;
    const auto any_of = [&](const auto& map) {
      return std::next(map.begin(), static_cast<std::ptrdiff_t>(random() % map.size()))->first;
    };
    for (int step = 0; step < 600; ++step) {
      const std::uint64_t choice = random() % 10;
      if (choice < 4) {
        const auto held = static_cast<std::int64_t>(came.size()) + 1;
        came[held] = inquiry.now;
        inquiry.wants(held,
                      from(static_cast<int>(random() % 95), static_cast<std::uint16_t>(step)));
      } else if (choice < 6 && !inquiry.open.empty()) {
        inquiry.comes_up(any_of(inquiry.open));
      } else if (choice < 7 && !inquiry.open.empty()) {
        inquiry.goes_down(any_of(inquiry.open), "reset");
      } else if (choice < 9 && !inquiry.asked.empty()) {
        const ConnectionId line = any_of(inquiry.asked);
        std::vector<std::string> objections(inquiry.asked.at(line).connections.size());
        for (std::string& each : objections) each = random() % 2 == 0 ? "" : not_ours;
        if (random() % 10 == 0) objections.emplace_back();
        inquiry.answers(line, objections);
      }
      if (!came.empty() && random() % 20 == 0) {
        const std::int64_t held = any_of(came);
        inquiry.meets(OwnerUnwanted{{held}});
        inquiry.judged.try_emplace(held, "unwanted");
      }
      const auto deadline = inquiry.machine.next_deadline();
      if (deadline && random() % 4 == 0) {
        REQUIRE(*deadline > inquiry.now);
        inquiry.after(std::min(*deadline - inquiry.now, Millis{static_cast<int>(random() % 500)}));
      }
      for (const auto& [held, when] : came) {
        if (!inquiry.judged.contains(held)) REQUIRE(inquiry.now - when < patience);
      }
    }
    while (const auto deadline = inquiry.machine.next_deadline()) {
      inquiry.after(*deadline - inquiry.now);
    }
    CHECK(inquiry.judged.size() == came.size());
    CHECK(inquiry.asked.empty());
  }
}

}  // namespace
}  // namespace ddprun
