#include "tests/sim/cells.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace ddprun::sim {
namespace {

constexpr std::array<std::string_view, 4> succession_states{
    "following", "standing", "leading", "finished"};
constexpr std::array<std::string_view, 22> succession_events{
    "BallotArrived",  "Called",      "HeardOf",           "LeaderAnswered", "RecordDecided",
    "WorkersStarted", "WorkersGone", "Propose",           "HandOver",       "JobOver",
    "FolderAnswer",   "MarkKept",    "SuccessionTimeout", "VoteRequest",    "Vote",
    "Refusal",        "Release",     "Leading",           "Following",      "SteppedDown",
    "SurveyRequest",  "SurveyAnswer"};
constexpr std::array<std::string_view, 5> coordinator_states{
    "forming", "deciding", "running", "ending", "finished"};
constexpr std::array<std::string_view, 13> coordinator_events{"Join",
                                                              "NodeLost",
                                                              "WorkerFailed",
                                                              "WorkerSucceeded",
                                                              "StoreUnreachable",
                                                              "WorkersStuck",
                                                              "StopRequested",
                                                              "LeaveRequested",
                                                              "SaveReported",
                                                              "LeadKept",
                                                              "Decided",
                                                              "MarkFound",
                                                              "Timeout"};
constexpr std::array<std::string_view, 2> uplink_states{"without a lease", "leased"};
constexpr std::array<std::string_view, 20> uplink_events{
    "ConnectionUp", "ConnectionDown", "Heard",         "TellNews",  "Follow",
    "Unfollow",     "VotersKnown",    "NeededVoters",  "PassBeats", "Timeout",
    "Welcome",      "Redirect",       "VotersChanged", "Ack",       "Forgotten",
    "Refused",      "Instruction",    "UseRelay",      "AckBatch",  "AckFromRelay"};
constexpr std::array<std::string_view, 1> roster_states{""};
constexpr std::array<std::string_view, 11> roster_events{"Received",
                                                         "SessionClosed",
                                                         "Instruct",
                                                         "LeadChanged",
                                                         "VotersChanged",
                                                         "Timeout",
                                                         "Hello",
                                                         "Heartbeat",
                                                         "News",
                                                         "BeatBatch",
                                                         "Will"};

/// What no seed can reach, and why.
struct Impossible {
  std::string_view name;
  std::string_view why;
};
constexpr std::string_view no_coordinator = "a coordinator is where this process leads, only";
constexpr std::string_view no_lease =
    "nobody stands before the lease is over, and it follows nobody";
constexpr std::string_view agent_over = "the agent's end is the last that is heard of it";
constexpr std::string_view answers_hand_over = "it answers a HandOver at once";
constexpr std::string_view none_lives =
    "no member has workers: news of a node come in order, and its join or loss was the last";
constexpr std::string_view decided_once =
    "each record is decided once, and this one's deciding was over by another event";
constexpr std::string_view asked_by_own_founder =
    "a founder asks those who have joined it, and so follow it, and it itself knows";
constexpr std::string_view answers_in_time =
    "who is asked answers within moments of its joining; to whom has given way meanwhile, in a "
    "unit test";
constexpr std::string_view founders_only =
    "a mark matters to a founder, which heeds none once it has proposed a generation";
constexpr std::array impossible{
    Impossible{"succession standing: MarkKept", "a mark is on the disk before a lease is over"},
    Impossible{"coordinator running: MarkFound", founders_only},
    Impossible{"coordinator ending: MarkFound", founders_only},
    Impossible{"coordinator finished: MarkFound",
               "no node with a mark comes in the milliseconds from a founder's end to its agent's"},
    Impossible{"succession leading: SurveyRequest", asked_by_own_founder},
    Impossible{"succession finished: SurveyRequest", asked_by_own_founder},
    Impossible{"succession standing: SurveyAnswer", answers_in_time},
    Impossible{"succession finished: SurveyAnswer", answers_in_time},
    Impossible{"succession following: Propose", no_coordinator},
    Impossible{"succession standing: Propose", no_coordinator},
    Impossible{"succession finished: Propose", no_coordinator},
    Impossible{"succession following: HandOver", no_coordinator},
    Impossible{"succession standing: HandOver", no_coordinator},
    Impossible{"succession finished: HandOver", no_coordinator},
    Impossible{"coordinator deciding: LeadKept", answers_hand_over},
    Impossible{"coordinator running: LeadKept", answers_hand_over},
    Impossible{"coordinator ending: LeadKept", answers_hand_over},
    Impossible{"coordinator finished: LeadKept", answers_hand_over},
    Impossible{"succession standing: LeaderAnswered", no_lease},
    Impossible{"succession standing: WorkersStarted", no_lease},
    Impossible{"succession finished: WorkersStarted", agent_over},
    Impossible{"succession finished: JobOver", agent_over},
    Impossible{"coordinator forming: WorkerFailed", none_lives},
    Impossible{"coordinator forming: WorkerSucceeded", none_lives},
    Impossible{"coordinator deciding: WorkerFailed", none_lives},
    Impossible{"coordinator deciding: WorkerSucceeded", none_lives},
    Impossible{"coordinator finished: WorkerFailed", none_lives},
    Impossible{"coordinator finished: WorkerSucceeded", none_lives},
    Impossible{"coordinator forming: SaveReported", none_lives},
    Impossible{"coordinator deciding: SaveReported", none_lives},
    Impossible{"coordinator finished: SaveReported", none_lives},
    Impossible{"coordinator running: Decided", decided_once},
    Impossible{"coordinator ending: Decided", decided_once},
};

template <typename Table, typename States, typename Events>
void list(std::string_view machine,
          const Table& table,
          const States& states,
          const Events& events,
          std::vector<std::string>& missing) {
  static_assert(std::tuple_size_v<Table> == std::tuple_size_v<States>);
  static_assert(std::tuple_size_v<typename Table::value_type> == std::tuple_size_v<Events>);
  for (std::size_t state = 0; state < states.size(); ++state) {
    for (std::size_t event = 0; event < events.size(); ++event) {
      if (table[state][event] != 0) continue;
      missing.push_back(std::string(machine) + " " + std::string(states[state]) + ": " +
                        std::string(events[event]));
    }
  }
}

/// Kinds of messages come behind those of events.
template <std::size_t Events, typename Table>
std::int64_t hit(Table& table,
                 std::size_t state,
                 std::size_t event,
                 std::optional<std::size_t> message) {
  auto& row = table.at(state);
  ++row.at(event);
  const std::size_t cell = message ? Events + *message : event;
  if (message) ++row.at(cell);
  return static_cast<std::int64_t>(state * row.size() + cell);
}

template <typename Table>
void sum(Table& table, const Table& other) {
  for (std::size_t state = 0; state < table.size(); ++state) {
    for (std::size_t event = 0; event < table[state].size(); ++event) {
      table[state][event] += other[state][event];
    }
  }
}

}  // namespace

std::int64_t Cells::count(const Succession& machine, const SuccessionEvent& event) {
  const auto* arrived = std::get_if<BallotArrived>(&event);
  return hit<std::variant_size_v<SuccessionEvent>>(
      succession_,
      static_cast<std::size_t>(machine.state()),
      event.index(),
      arrived != nullptr ? std::optional(arrived->ballot.index()) : std::nullopt);
}

std::int64_t Cells::count(const Coordinator& machine, const CoordinatorEvent& event) {
  return hit<std::variant_size_v<CoordinatorEvent>>(
      coordinator_, static_cast<std::size_t>(machine.state()), event.index(), std::nullopt);
}

std::int64_t Cells::count(const Uplink& machine, const UplinkEvent& event) {
  const auto* heard = std::get_if<Heard>(&event);
  return hit<std::variant_size_v<UplinkEvent>>(
      uplink_,
      machine.lease_end() ? 1 : 0,
      event.index(),
      heard != nullptr ? std::optional(heard->message.index()) : std::nullopt);
}

std::int64_t Cells::count(const Roster&, const RosterEvent& event) {
  const auto* received = std::get_if<Received>(&event);
  return hit<std::variant_size_v<RosterEvent>>(
      roster_,
      0,
      event.index(),
      received != nullptr ? std::optional(received->message.index()) : std::nullopt);
}

void Cells::add(const Cells& other) {
  sum(succession_, other.succession_);
  sum(coordinator_, other.coordinator_);
  sum(uplink_, other.uplink_);
  sum(roster_, other.roster_);
}

std::vector<std::string> Cells::unreached() const {
  std::vector<std::string> all;
  list("succession", succession_, succession_states, succession_events, all);
  list("coordinator", coordinator_, coordinator_states, coordinator_events, all);
  list("uplink", uplink_, uplink_states, uplink_events, all);
  list("roster", roster_, roster_states, roster_events, all);
  return all;
}

std::vector<std::string> Cells::missing() const {
  std::vector<std::string> all = unreached();
  for (const Impossible& cell : impossible) {
    const auto found = std::ranges::find(all, cell.name);
    if (found == all.end()) {
      all.push_back(std::string(cell.name) + ", which cannot happen, has");
    } else {
      all.erase(found);
    }
  }
  return all;
}

bool Cells::reached(const std::string& name) const {
  const std::vector<std::string> all = unreached();
  return std::ranges::find(all, name) == all.end();
}

std::size_t Cells::reached_count() const {
  return size() - unreached().size();
}

std::size_t Cells::impossible_count() {
  return impossible.size();
}

std::size_t Cells::size() const {
  return succession_.size() * succession_[0].size() + coordinator_.size() * coordinator_[0].size() +
         uplink_.size() * uplink_[0].size() + roster_.size() * roster_[0].size();
}

}  // namespace ddprun::sim
