// What the tests of the roster share: the agents' sessions, and what had to be done.
#pragma once

#include "rendezvous/membership/roster.hpp"
#include "tests/unit/usual_times.hpp"

#include <fmt/format.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace ddprun::roster_story {

using Lines = std::vector<std::string>;

inline std::string text_of(const ToAgent& message) {
  if (const auto* ack = std::get_if<Ack>(&message)) {
    return fmt::format("ack {} got {} lead {}", ack->answers, ack->received, ack->lead.count);
  }
  if (const auto* forgotten = std::get_if<Forgotten>(&message)) {
    return fmt::format("forgotten life {}", forgotten->who.life);
  }
  if (const auto* refused = std::get_if<Refused>(&message)) return "refused: " + refused->why;
  if (const auto* welcome = std::get_if<Welcome>(&message)) {
    const Founding& founding = welcome->leader.founding;
    return fmt::format("welcome node {}, {} voters{}",
                       welcome->node.value,
                       welcome->voters.all.size(),
                       founding.is_none() ? "" : fmt::format(", by {}", founding.founder));
  }
  if (const auto* changed = std::get_if<VotersChanged>(&message)) {
    return fmt::format("{} voters", changed->voters.all.size());
  }
  if (const auto* use = std::get_if<UseRelay>(&message)) return "use relay " + use->address;
  if (const auto* batch = std::get_if<AckBatch>(&message)) {
    std::string text = "answers";
    for (const RelayedAck& each : batch->acks) {
      text += fmt::format(" {}:{}", each.to.agent, each.ack.answers);
    }
    return text;
  }
  return fmt::format("instruction {}", std::get<Numbered<Instruction>>(message).number);
}

inline std::string text_of(const RosterAction& action) {
  if (const auto* send = std::get_if<SendDown>(&action)) {
    return fmt::format("{}: {}", send->session.value, text_of(send->message));
  }
  if (const auto* close = std::get_if<CloseSession>(&action)) {
    return fmt::format(
        "close {}{}{}", close->session.value, close->why.empty() ? "" : ": ", close->why);
  }
  const CoordinatorEvent& event = std::get<Report>(action).event;
  if (const auto* join = std::get_if<Join>(&event)) {
    return fmt::format("join of node {}", join->offer.node.value);
  }
  if (const auto* lost = std::get_if<NodeLost>(&event)) {
    return fmt::format("node {} lost: {}", lost->node.value, lost->why);
  }
  return "other news";
}

inline Hello hello_of(Incarnation from, std::optional<NodeId> node) {
  Hello hello;
  hello.from = from;
  hello.host = fmt::format("n{}", from.agent);
  hello.node = node;
  hello.any_place = !node;
  hello.contact = hello.host + ":1";
  return hello;
}

inline const Leader roster_leader{100, "n0", "n0:1", {}, {}};

/// Tells the story of a coordinator on node 0 whose agents are dead after 4 s of silence. Each verb
/// returns what had to be done.
struct RosterStory {
  Roster roster{RosterOptions{.leader = roster_leader, .times = usual_times}, Instant{}};
  Instant now;

  Lines meets(const RosterEvent& event) {
    std::vector<RosterAction> actions;
    roster.on_event(now, event, actions);
    Lines lines;
    for (const RosterAction& action : actions) lines.push_back(text_of(action));
    return lines;
  }
  /// But for the welcome.
  Lines greets(std::int64_t session, Incarnation from, std::optional<NodeId> node = {}) {
    Lines lines = says_hello(session, from, node);
    std::erase_if(lines, [](const auto& line) { return line.find("welcome") != line.npos; });
    return lines;
  }
  Lines says_hello(std::int64_t session, Incarnation from, std::optional<NodeId> node = {}) {
    return meets(Received{{session}, hello_of(from, node)});
  }
  Lines beats(std::int64_t session, std::int64_t number, std::int64_t received = 0) {
    return meets(Received{{session}, Heartbeat{number, received}});
  }
  Lines joins(std::int64_t session, std::int64_t number = 1) {
    return meets(Received{{session}, Numbered<News>{number, Join{}}});
  }
  Lines instructs(int node) {
    return meets(Instruct{StopGeneration{NodeId{node}, GenerationNumber{1}, SIGTERM, Millis{0}}});
  }
  /// Ticks all the way, as the shell does.
  Lines after(std::int64_t time) {
    Lines lines;
    const Instant until = now + Millis{time};
    while (*roster.next_deadline() <= until) {
      now = *roster.next_deadline();
      const Lines more = meets(Timeout{});
      lines.insert(lines.end(), more.begin(), more.end());
    }
    now = until;
    return lines;
  }
};

inline Lines refused(std::int64_t session, const std::string& why) {
  return {fmt::format("{}: refused: {}", session, why),
          fmt::format("close {}: refused: {}", session, why)};
}

/// By one that may be its predecessor.
inline Lines place_taken(std::int64_t session, const std::string& why) {
  return {fmt::format("{}: refused: {}", session, why),
          fmt::format("close {}: {}; the new agent gets it once the other has been silent for 4 s",
                      session,
                      why)};
}

}  // namespace ddprun::roster_story
