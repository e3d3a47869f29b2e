// What the tests of the uplink share: one agent's connections, and what had to be done.
#pragma once

#include "rendezvous/membership/uplink.hpp"
#include "tests/unit/usual_times.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::uplink_story {

using Lines = std::vector<std::string>;

inline std::string text_of(const ToCoordinator& message) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    const std::string leased =
        hello->coordinator == 0 ? "" : fmt::format(", leased by {}", hello->coordinator);
    return fmt::format("hello of life {}{}", hello->from.life, leased);
  }
  if (const auto* beat = std::get_if<Heartbeat>(&message)) {
    return fmt::format("heartbeat {} got {}", beat->number, beat->received);
  }
  if (const auto* beat = std::get_if<BeatForRelay>(&message)) {
    const RelayedBeat& relayed = beat->relayed;
    return fmt::format(
        "to relay: heartbeat {} of life {}", relayed.heartbeat.number, relayed.from.life);
  }
  if (const auto* batch = std::get_if<BeatBatch>(&message)) {
    return fmt::format("{} heartbeats", batch->beats.size());
  }
  return fmt::format("news {}", std::get<Numbered<News>>(message).number);
}

inline std::string text_of(const UplinkAction& action) {
  if (const auto* made = std::get_if<Connect>(&action)) {
    return fmt::format("connect {}", made->connection.value);
  }
  if (const auto* ended = std::get_if<Disconnect>(&action)) {
    return fmt::format("disconnect {}", ended->connection.value);
  }
  if (const auto* send = std::get_if<SendUp>(&action)) {
    return fmt::format("{}: {}", send->connection.value, text_of(send->message));
  }
  if (const auto* pass = std::get_if<PassOn>(&action)) {
    return fmt::format("pass on {}", pass->instruction.index());
  }
  if (const auto* given_up = std::get_if<GiveUp>(&action)) {
    return fmt::format(
        "give up with {}: {}", given_up->outcome.exit_status, given_up->outcome.text);
  }
  if (const auto* shut_out = std::get_if<ShutOut>(&action)) return "shut out: " + shut_out->why;
  if (const auto* heard = std::get_if<HeardOf>(&action)) {
    return "heard of " + heard->leader.host;
  }
  if (std::holds_alternative<LeaderAnswered>(action)) return "";
  if (std::holds_alternative<LeaseChanged>(action)) return "";
  if (std::holds_alternative<WillIsFor>(action)) return "";
  if (const auto* decided = std::get_if<RecordDecided>(&action)) {
    return fmt::format("record {} is decided", decided->record.number.value);
  }
  if (const auto* pass = std::get_if<PassAcks>(&action)) {
    return fmt::format("{} answers", pass->batch.acks.size());
  }
  return std::holds_alternative<LeaseEnded>(action) ? "lease ended" : "life ended";
}

inline Leader leader_at(int node, std::int64_t epoch = 1) {
  const std::string host = fmt::format("n{}", node);
  return {AgentId{100} + static_cast<AgentId>(node), host, host + ":1", Epoch{epoch}, Epoch{epoch}};
}

/// Tells the story of one agent's connection: dead after 4 s, so that the lease is 3 s and a
/// heartbeat comes each 500 ms. Each verb returns what had to be done.
struct UplinkStory {
  explicit UplinkStory(std::optional<NodeId> place = std::nullopt)
      : uplink(UplinkOptions{.agent = 7,
                             .host = "n1",
                             .node = place,
                             .endpoint = "n0:1",
                             .other_doors = {"n1:1", "n2:1"},
                             .times = usual_times,
                             .saving_signals = {SIGUSR1}}) {}

  Uplink uplink;
  Instant now;
  std::optional<Instant> lease_said;  // to the guard
  std::string will_is_for;

  Lines meets(const UplinkEvent& event) { return lines_of(answers(event)); }
  std::vector<UplinkAction> answers(const UplinkEvent& event) {
    std::vector<UplinkAction> actions;
    uplink.on_event(now, event, actions);
    for (const UplinkAction& action : actions) {
      if (const auto* changed = std::get_if<LeaseChanged>(&action)) lease_said = changed->until;
      if (const auto* will = std::get_if<WillIsFor>(&action)) will_is_for = will->address;
    }
    CHECK(lease_said == uplink.lease_end());
    return actions;
  }
  Lines begins() {
    std::vector<UplinkAction> actions;
    uplink.start(now, actions);
    return lines_of(actions);
  }
  /// With the leader on n0, who is then followed.
  Lines connects(std::int64_t id) {
    Lines lines = opens(id);
    append(lines, is_welcomed(id));
    if (lines.back().starts_with("heard of")) append(lines, follows(leader_at(0)));
    return lines;
  }
  Lines opens(std::int64_t id) { return meets(ConnectionUp{{id}, fmt::format("n{}:1", id - 1)}); }
  Lines is_welcomed(std::int64_t id, const Leader& leader = leader_at(0)) {
    return hears(Welcome{leader, NodeId{1}, voters, record}, id);
  }
  Lines follows(const Leader& leader) { return meets(Follow{leader}); }
  Voters voters;
  RecordId record;  // that names them
  static void append(Lines& lines, const Lines& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  }
  Lines breaks(std::int64_t id) { return meets(ConnectionDown{{id}, "reset"}); }
  Lines hears(ToAgent message, std::int64_t id = 1) {
    return meets(Heard{{id}, std::move(message)});
  }
  Lines is_answered(std::int64_t number, std::int64_t id = 1, Millis lead = Millis{60'000}) {
    return hears(Ack{number, 0, lead}, id);
  }
  Lines tells() { return meets(TellNews{WorkerSucceeded{GenerationNumber{1}, Rank{0}}}); }
  Lines is_asked_to_stop(const StopRequested& stop = {SIGINT}) { return meets(TellNews{stop}); }
  Lines after(std::int64_t time) {
    now = now + Millis{time};
    return meets(Timeout{});
  }
  static Lines lines_of(const std::vector<UplinkAction>& actions) {
    Lines lines;
    for (const UplinkAction& action : actions) {
      if (!text_of(action).empty()) lines.push_back(text_of(action));
    }
    return lines;
  }
};

inline UplinkStory leased() {
  UplinkStory story;
  (void)story.begins();
  (void)story.connects(1);
  (void)story.is_answered(1);
  return story;
}

inline Numbered<Instruction> start_number(std::int64_t number) {
  return {number, StartGeneration{NodeId{1}, {}}};
}
inline Numbered<Instruction> stop_number(std::int64_t number) {
  return {number, StopGeneration{NodeId{1}, GenerationNumber{1}, SIGTERM, Millis{0}}};
}
inline Numbered<Instruction> save_number(std::int64_t number) {
  return {number, SaveGeneration{NodeId{1}, GenerationNumber{1}}};
}

}  // namespace ddprun::uplink_story
