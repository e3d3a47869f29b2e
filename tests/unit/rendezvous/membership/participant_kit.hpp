// What the tests of the participant share: processes joined by sessions and ballots without delay.
// Only the test moves time, and only it speaks for agents.
#pragma once

#include "rendezvous/membership/participant.hpp"
#include "rendezvous/overloaded.hpp"
#include "tests/unit/usual_times.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::participant_story {

using Lines = std::vector<std::string>;

/// As an agent hears it: "start 1 of 2" is generation 1 of two nodes.
inline std::string line_of(const TellAgent& tell) {
  return std::visit(
      Overloaded{
          [](const StartGeneration& start) {
            const Part& part = start.part;
            return fmt::format("start {} of {}", part.number.value, part.group_world_size);
          },
          [](const StopGeneration& stop) { return fmt::format("stop {}", stop.generation.value); },
          [](const SaveGeneration& save) { return fmt::format("save {}", save.generation.value); },
          [](const FinishJob& finish) { return "finish: " + finish.outcome.text; },
          [](const LeaseEnded&) { return std::string("lease ended"); },
          [](const LifeEnded&) { return std::string("life ended"); },
          [](const GiveUp& given_up) { return "give up: " + given_up.outcome.text; }},
      tell.event);
}

/// Of a job of one node or more. n0 founds it, at the endpoint.
inline ParticipantOptions peer_options(int host, int nodes_max) {
  ParticipantOptions options;
  options.agent = AgentId{100} + static_cast<AgentId>(host);
  options.host = fmt::format("n{}", host);
  if (host > 0) options.node = NodeId{host};
  options.founds = options.is_at_endpoint = host == 0;
  options.contact = options.host + ":1";
  options.endpoint = "n0:1";
  options.times = usual_times;
  options.coordinator.voters_decide = true;
  options.coordinator.gathering.nodes_max = nodes_max;
  options.coordinator.saving_signals = {SIGTERM};
  return options;
}

/// A process, and what was said to those around it.
struct Peer final : ParticipantObserver {
  explicit Peer(ParticipantOptions options) : participant(std::move(options), *this) {}

  template <typename Action>
  using Answer = const std::vector<Action>&;
  void told(const Uplink&, const UplinkEvent&) override { seen += "+U"; }
  void told(const Succession&, const SuccessionEvent&) override { seen += "+S"; }
  void told(const Coordinator&, const CoordinatorEvent&) override { seen += "+C"; }
  void told(const Roster&, const RosterEvent&) override { seen += "+R"; }
  void answered(const Uplink&, Answer<UplinkAction>) override { seen += "-U"; }
  void answered(const Succession&, Answer<SuccessionAction>) override { seen += "-S"; }
  void answered(const Coordinator&, Answer<CoordinatorAction>) override { seen += "-C"; }
  void answered(const Roster&, Answer<RosterAction>) override { seen += "-R"; }

  Participant participant;
  std::string seen;  ///< By its observer: +S, the succession was told; -S, it has answered.
  Lines agent_told;
  Lines notes;
  std::optional<Instant> lease;  ///< As its guard was told.
  std::string will_is_for;       ///< Likewise.
  int all_told_count = 0;
  bool is_cut = false;  ///< Nothing gets through to it, or from it, but from itself.
};

/// The job, in which all that is sent arrives at once and in its order, and each attempt to connect
/// succeeds, but for what is cut.
class ParticipantStory {
 public:
  using Actions = Participant::Actions;
  static constexpr int steps_max = 10'000;  ///< Of one story's verb.

  explicit ParticipantStory(const std::vector<ParticipantOptions>& all) {
    for (const ParticipantOptions& each : all) peers_.push_back(std::make_unique<Peer>(each));
    for (int host = 0; host < static_cast<int>(all.size()); ++host) {
      Actions first;
      peer(host).participant.start(now, first);
      perform(host, first);  // nobody hears of it before all have started
    }
    drain();
  }

  Instant now;
  bool loses_ballots = false;
  bool disk_hangs = false;  ///< No mark is ever kept.

  [[nodiscard]] Peer& peer(int host) { return *peers_.at(static_cast<std::size_t>(host)); }

  /// Returns what it had to do at once; that is done, and all that follows from it.
  Actions feed(int host, const ParticipantEvent& event) {
    Actions actions = apply(host, event);
    drain();
    return actions;
  }

  /// Its agent is ready for the generation after that one.
  Actions joins(int host, std::int64_t done_with = 0) {
    Join join;
    join.offer.host = fmt::format("n{}", host);
    join.offer.address = join.offer.host;
    join.offer.store_port = 4000;
    join.offer.worker_count = 1;
    join.done_with = GenerationNumber{done_with};
    return feed(host, TellNews{join});
  }

  /// From deadline to deadline, as the shell does.
  void after(Millis time) {
    const Instant until = now + time;
    for (int rounds = 0; wakes_first(until); ++rounds) REQUIRE(rounds < steps_max);
    now = until;
  }

  /// Sessions that are open at both ends.
  [[nodiscard]] auto sessions_count(int agent, int door) const {
    return std::ranges::count_if(lines_, [&](const auto& entry) {
      const Line& line = entry.second;
      return line.agent == agent && line.door == door && line.agent_has_it && line.door_has_it;
    });
  }

 private:
  struct Line {
    int agent = 0;
    int door = 0;
    ConnectionId connection;
    bool agent_has_it = true;
    bool door_has_it = true;
  };

  /// Whoever is due before all others. Returns whether anybody is until then.
  bool wakes_first(Instant until) {
    std::optional<std::pair<Instant, int>> first;
    for (int host = 0; host < static_cast<int>(peers_.size()); ++host) {
      const auto due = peer(host).participant.next_deadline();
      if (due && *due <= until && (!first || *due < first->first)) first = {*due, host};
    }
    if (!first) return false;
    now = std::max(now, first->first);
    feed(first->second, Timeout{});
    return true;
  }

  Actions apply(int host, const ParticipantEvent& event) {
    Actions actions;
    peer(host).participant.on_event(now, event, actions);
    perform(host, actions);
    CHECK(peer(host).lease == peer(host).participant.uplink().lease_end());
    return actions;
  }

  void drain() {
    for (int steps = 0; !queue_.empty(); ++steps) {
      REQUIRE(steps < steps_max);
      const auto next = std::move(queue_.front());
      queue_.pop_front();
      next();
    }
  }

  /// Unless the way between the two is cut by then.
  void post(int from, int to, ParticipantEvent event) {
    queue_.emplace_back([this, from, to, event = std::move(event)] {
      const bool is_through = from == to || (!peer(from).is_cut && !peer(to).is_cut);
      if (is_through) apply(to, event);
    });
  }

  void perform(int host, const Actions& actions) {
    Peer& at = peer(host);
    for (const ParticipantAction& action : actions) {
      std::visit(Overloaded{[&](const KeepMark&) {
                              if (!disk_hangs) post(host, host, MarkKept{});
                            },
                            [&](const TellAgent& to) { at.agent_told.push_back(line_of(to)); },
                            [&](const LeaseChanged& changed) { at.lease = changed.until; },
                            [&](const WillIsFor& will) { at.will_is_for = will.address; },
                            [&](const Note& note) { at.notes.push_back(note.text); },
                            [&](const AllTold&) { ++at.all_told_count; },
                            [](const FolderTask&) {},
                            [](const DropMark&) {},
                            [](const LookUpOwners&) {},
                            [&](const auto& sent) { send(host, sent); }},
                 action);
    }
  }

  void send(int host, const Connect& made) {
    const int door = std::stoi(made.address.substr(1));
    lines_[++sessions_] = {host, door, made.connection};
    post(door, host, ConnectionUp{made.connection, made.address});
  }
  void send(int host, const Disconnect& ended) {
    const auto found = find_line(host, ended.connection);
    if (found == lines_.end()) return;
    found->second.agent_has_it = false;
    if (found->second.door_has_it) post(host, found->second.door, SessionClosed{found->first});
  }
  void send(int host, const SendUp& up) {
    const auto found = find_line(host, up.connection);
    if (found == lines_.end() || !found->second.door_has_it) return;
    post(host, found->second.door, Received{found->first, up.message});
  }
  void send(int host, const SendDown& down) {
    const auto found = lines_.find(down.session);
    if (found == lines_.end() || !found->second.agent_has_it) return;
    post(host, found->second.agent, Heard{found->second.connection, down.message});
  }
  void send(int host, const CloseSession& close) {
    const auto found = lines_.find(close.session);
    if (found == lines_.end()) return;
    found->second.door_has_it = false;
    post(host, found->second.agent, ConnectionDown{found->second.connection, "closed"});
  }
  void send(int host, const SendBallot& ballot) {
    if (loses_ballots) return;
    post(host, std::stoi(ballot.address.substr(1)), Received{{0}, ballot.ballot});
  }

  [[nodiscard]] std::map<SessionId, Line>::iterator find_line(int agent, ConnectionId connection) {
    return std::ranges::find_if(lines_, [&](const auto& entry) {
      return entry.second.agent == agent && entry.second.connection == connection;
    });
  }

  std::vector<std::unique_ptr<Peer>> peers_;
  std::map<SessionId, Line> lines_;
  SessionId sessions_;
  std::deque<std::function<void()>> queue_;
};

}  // namespace ddprun::participant_story
