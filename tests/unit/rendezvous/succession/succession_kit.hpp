// What the tests of the succession share: a process that is told what happens, and its answers.
#pragma once

#include "rendezvous/succession/succession.hpp"
#include "tests/unit/usual_times.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::succession_story {

using Lines = std::vector<std::string>;

inline bool found_in(const Lines& lines, const std::string& line) {
  return std::ranges::find(lines, line) != lines.end();
}

inline Voter voter(int node) {
  const std::string host = fmt::format("n{}", node);
  return {static_cast<AgentId>(node) + 1, NodeId{node}, host, host};
}
inline Leader leader_on(int node, std::int64_t epoch) {
  const Voter who = voter(node);
  return {who.agent, who.host, who.address, Epoch{epoch}, Epoch{epoch}};
}

/// A generation with the first `count` hosts as voters, formed by n0 in epoch 1 and decided.
inline Knowledge record_of(int count, std::int64_t number = 1) {
  Knowledge known;
  known.record.number = GenerationNumber{number};
  known.record.epoch = known.accepted = Epoch{1};
  for (int node = 0; node < count; ++node) known.record.voters.all.push_back(voter(node));
  known.record.voters.head = 1;
  known.before = Voters{{voter(0)}, 1};
  known.decided = true;
  return known;
}

inline std::string text_of(const Ballot& ballot) {
  if (const auto* request = std::get_if<VoteRequest>(&ballot)) {
    return fmt::format("elect me in {}", request->epoch.value);
  }
  if (const auto* vote = std::get_if<Vote>(&ballot))
    return fmt::format("vote {}", vote->epoch.value);
  if (const auto* refusal = std::get_if<Refusal>(&ballot)) {
    const std::string by = refusal->leader ? ", " + refusal->leader->host + " leads" : "";
    return fmt::format("refuse {}{}", refusal->epoch.value, by);
  }
  if (const auto* release = std::get_if<Release>(&ballot)) {
    return fmt::format("release {}", release->epoch.value);
  }
  if (const auto* stepped_down = std::get_if<SteppedDown>(&ballot)) {
    if (stepped_down->successor != 0) {
      return fmt::format(
          "resigned in {} for {}", stepped_down->epoch.value, stepped_down->successor);
    }
    return fmt::format(
        "stepped down in {}, binds for {}", stepped_down->epoch.value, stepped_down->binds.count);
  }
  if (const auto* leading = std::get_if<Leading>(&ballot)) {
    return fmt::format("leading {} with {}{}{}",
                       leading->leader.epoch.value,
                       leading->record.number.value,
                       leading->decided ? "" : "?",
                       leading->whole ? " whole" : "");
  }
  if (std::holds_alternative<SurveyRequest>(ballot)) return "do you see the proof?";
  if (const auto* answer = std::get_if<SurveyAnswer>(&ballot)) {
    return fmt::format("{} proof {}", answer->sees ? "sees" : "does not see", answer->folder.proof);
  }
  const auto& following = std::get<Following>(ballot);
  return fmt::format("following {} with {}", following.epoch.value, following.record.number.value);
}

inline std::string text_of(const FolderTask& task) {
  if (std::holds_alternative<OpenFolder>(task)) return "open the folder";
  if (const auto* look = std::get_if<LookForProof>(&task)) {
    return fmt::format("look for proof {}", look->folder.proof);
  }
  if (const auto* read = std::get_if<ReadClaims>(&task)) {
    return fmt::format("read claims of {}", read->folder.proof);
  }
  if (std::holds_alternative<CloseFolder>(task)) return "close the folder";
  const Knowledge& known = std::get<ClaimPlace>(task).known;
  std::string text =
      fmt::format("claim {} with {} for", known.place->number, known.id().number.value);
  for (const Voter& each : known.record.voters.all) text += " " + each.host;
  return text;
}

inline std::string text_of(const SuccessionAction& action) {
  if (const auto* send = std::get_if<SendBallot>(&action)) {
    return send->address + ": " + text_of(send->ballot);
  }
  if (const auto* lead = std::get_if<TakeLead>(&action)) {
    return fmt::format("take lead, {}", lead->record ? "inheriting" : "founding");
  }
  if (const auto* changed = std::get_if<LeadChanged>(&action)) {
    const bool forever = changed->until == Lead::forever;
    return forever ? "lead for ever" : fmt::format("lead until {}", changed->until.ms);
  }
  if (const auto* voters = std::get_if<VotersChanged>(&action)) {
    return fmt::format("{} voters", voters->voters.all.size());
  }
  if (const auto* needed = std::get_if<NeededVoters>(&action)) {
    const std::set<AgentId>& agents = needed->agents;
    return (agents.empty() ? "nobody" : fmt::format("{}", fmt::join(agents, " and "))) + " needed";
  }
  if (const auto* decided = std::get_if<Decided>(&action)) {
    return fmt::format("decided {}", decided->number.value);
  }
  if (const auto* follow = std::get_if<Follow>(&action)) return "follow " + follow->leader.host;
  if (const auto* turned = std::get_if<TurnAway>(&action)) {
    return "turn away to " + (turned->leader ? turned->leader->host : std::string("nobody"));
  }
  if (const auto* task = std::get_if<FolderTask>(&action)) return text_of(*task);
  if (const auto* keep = std::get_if<KeepMark>(&action)) {
    return fmt::format("keep mark {}", keep->founding.epoch.value);
  }
  if (std::holds_alternative<DropMark>(action)) return "drop mark";
  if (const auto* found = std::get_if<MarkFound>(&action)) return "mark found on " + found->where;
  if (const auto* silent = std::get_if<VoterSilent>(&action)) {
    return silent->voter.host + " is silent";
  }
  if (std::holds_alternative<Admit>(action)) return "admit";
  if (std::holds_alternative<LeadKept>(action)) return "the lead is kept";
  return std::holds_alternative<StepDown>(action) ? "step down" : "unfollow";
}

/// Tells the story of one process; dead after 4 s, so that the lease is 3 s. Each verb returns what
/// had to be done.
struct SuccessionStory {
  Succession succession;
  Instant now;

  explicit SuccessionStory(int node = 1, std::string folder = "", int nodes_min = 1)
      : succession(SuccessionOptions{.self = voter(node),
                                     .times = usual_times,
                                     .nodes_min = nodes_min,
                                     .endpoint = "n0",
                                     .founds = node == 0,
                                     .folder = std::move(folder)}) {
    std::vector<SuccessionAction> actions;
    succession.start(now, actions);
  }
  Lines meets(const SuccessionEvent& event) {
    std::vector<SuccessionAction> actions;
    succession.on_event(now, event, actions);
    Lines lines;
    for (const SuccessionAction& action : actions) lines.push_back(text_of(action));
    return lines;
  }
  Lines hears(Ballot ballot) { return meets(BallotArrived{std::move(ballot)}); }
  Lines is_led(const Leader& leader, const std::optional<Knowledge>& whole = {}) {
    Knowledge known = whole ? *whole : succession.knowledge().value();
    known.decided = !whole || whole->decided;
    return hears(Leading{leader, Instant{77}, known.id(), known.decided, known.claimed(), whole});
  }
  Lines is_asked(int node, std::int64_t epoch, const Knowledge& record) {
    return hears(
        VoteRequest{voter(node), Epoch{epoch}, Instant{88}, record.id(), {record.record.voters}});
  }
  Lines gets_vote(int node, std::int64_t epoch, Instant sent) {
    return hears(Vote{voter(node).agent, Epoch{epoch}, sent});
  }
  Lines is_followed(int node, std::int64_t epoch, Instant sent) {
    return hears(Following{voter(node).agent, Epoch{epoch}, sent, succession.knowledge()->id()});
  }
  Lines at(std::int64_t ms) {
    now = Instant{ms};
    return meets(SuccessionTimeout{});
  }
};

/// n1, first in order after n0, follows n0 since time 0.
inline SuccessionStory following(int count = 3) {
  SuccessionStory story;
  (void)story.is_led(leader_on(0, 1), record_of(count));
  return story;
}
inline SuccessionStory standing(int count = 3) {
  SuccessionStory story = following(count);
  (void)story.at(3'000);
  return story;
}
inline SuccessionStory leading(int count = 3) {
  SuccessionStory story = standing(count);
  (void)story.gets_vote(2, 2, Instant{3'000});
  if (count > 4) (void)story.gets_vote(3, 2, Instant{3'000});
  return story;
}

}  // namespace ddprun::succession_story
