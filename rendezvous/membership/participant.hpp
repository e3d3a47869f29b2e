// A process's whole part in a job of many nodes: its way to the coordinator (the uplink), its voice
// in who coordinates (the succession) and, while it does so itself, the coordinator and its roster.
//
// The process that coordinates has its own agent among those that connect to it, like any other's:
// so its lease ends with its lead.
//
// Order
//   What the uplink and the succession say to each other comes at once, as does a proposal. What
//   the coordinator and its roster say to each other waits until all else is done that the same
//   event has caused; and none of it is left when the event is.
// Bounds
//   One hello for each session, until the succession has answered it.
#pragma once

#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/membership/link_events.hpp"
#include "rendezvous/membership/participant_notes.hpp"
#include "rendezvous/membership/roster.hpp"
#include "rendezvous/membership/uplink.hpp"
#include "rendezvous/succession/succession.hpp"
#include "rendezvous/units.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

struct ParticipantOptions {
  AgentId agent = 0;  ///< Drawn at random.
  std::string host;
  std::optional<NodeId> node;      ///< Its place in the order of nodes, if it was given one.
  bool witness = false;            ///< It is no node, and only votes.
  bool founds = false;             ///< It begins the job where it finds none,
  bool is_at_endpoint = false;     ///< and can be reached where others look for it.
  std::string contact;             ///< Where this process listens.
  std::string endpoint;            ///< Where those who know nobody look for the job.
  std::vector<std::string> doors;  ///< That, and other hosts.
  std::string folder;              ///< For claims, as people know it; empty: there is none.
  bool keeps_marks = false;
  Epoch mark;  ///< That was left on this node, of a job that has not ended; 0: none was.
  LeaseTimes times;
  CoordinatorOptions coordinator;
};

/// The node's workers may be dead because its lease is over: that comes first.
struct LookAtLease {};
using ParticipantEvent = std::variant<TellNews,
                                      WorkersStarted,
                                      WorkersGone,
                                      LookAtLease,
                                      JobOver,
                                      ConnectionUp,
                                      ConnectionDown,
                                      Heard,
                                      Received,
                                      SessionClosed,
                                      FolderAnswer,
                                      MarkKept,
                                      Timeout>;

/// To the node's agent.
struct TellAgent {
  LinkEvent event;
};
/// The job is over, and nobody waits for a word from this process any more.
struct AllTold {};
using ParticipantAction = std::variant<Connect,
                                       Disconnect,
                                       SendUp,
                                       SendDown,
                                       CloseSession,
                                       SendBallot,
                                       FolderTask,
                                       KeepMark,
                                       DropMark,
                                       TellAgent,
                                       LeaseChanged,
                                       Note,
                                       AllTold>;

/// Sees what each machine of a participant is told, and what it has answered, before that is acted
/// on.
class ParticipantObserver {
 public:
  virtual ~ParticipantObserver() = default;

  virtual void told(const Uplink&, const UplinkEvent&) {}
  virtual void told(const Succession&, const SuccessionEvent&) {}
  virtual void told(const Coordinator&, const CoordinatorEvent&) {}
  virtual void told(const Roster&, const RosterEvent&) {}
  virtual void answered(const Uplink&, const std::vector<UplinkAction>&) {}
  virtual void answered(const Succession&, const std::vector<SuccessionAction>&) {}
  virtual void answered(const Coordinator&, const std::vector<CoordinatorAction>&) {}
  virtual void answered(const Roster&, const std::vector<RosterAction>&) {}

 protected:
  ParticipantObserver() = default;
  ParticipantObserver(const ParticipantObserver&) = default;
  ParticipantObserver& operator=(const ParticipantObserver&) = default;
  ParticipantObserver(ParticipantObserver&&) = default;
  ParticipantObserver& operator=(ParticipantObserver&&) = default;
};

class Participant {
 public:
  using Actions = std::vector<ParticipantAction>;

  /// `observer` outlives this.
  Participant(ParticipantOptions options, ParticipantObserver& observer);

  /// The first actions: call once, before any event.
  void start(Instant now, Actions& out);

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws; total.
  void on_event(Instant now, const ParticipantEvent& event, Actions& out);

  /// When to call again with Timeout.
  [[nodiscard]] std::optional<Instant> next_deadline() const;

  [[nodiscard]] const Uplink& uplink() const { return uplink_; }
  [[nodiscard]] const Succession& succession() const { return succession_; }
  /// Null while another process coordinates, or none.
  [[nodiscard]] const Coordinator* coordinator() const {
    return office_ ? &office_->coordinator : nullptr;
  }

 private:
  /// The coordinator's side of the job.
  struct Office {
    Coordinator coordinator;
    Roster roster;
  };

  template <typename Action, typename Machine, typename Event>
  void tell(Instant now, Machine& machine, const Event& event, Actions& out);
  void tell_uplink(Instant now, const UplinkEvent& event, Actions& out);
  void tell_succession(Instant now, const SuccessionEvent& event, Actions& out);
  void tell_coordinator(Instant now, const CoordinatorEvent& event, Actions& out);
  void tell_roster(Instant now, const RosterEvent& event, Actions& out);
  void perform(Instant now, const UplinkAction& action, Actions& out);
  void perform(Instant now, const SuccessionAction& action, Actions& out);
  void perform(Instant now, const CoordinatorAction& action, Actions& out);
  void perform(Instant now, const RosterAction& action, Actions& out);
  void hear(Instant now, const Received& received, Actions& out);
  void hear(Instant now, const FolderAnswer& answer, Actions& out);
  void hear(Instant now, const MarkKept& kept, Actions& out);
  void lose(Instant now, const SessionClosed& closed, Actions& out);
  void look_at_lease(Instant now, Actions& out);
  void end_job(Instant now, const JobOver& over, Actions& out);
  void time_out(Instant now, Actions& out);
  void admit(Instant now, SessionId session, Actions& out);
  void turn_away(const TurnAway& turned, Actions& out);
  void take_lead(Instant now, const TakeLead& lead, Actions& out);
  void step_down(Actions& out);
  void settle(Instant now, Actions& out);
  static void say(std::string text, Actions& out);

  ParticipantOptions options_;
  ParticipantObserver& observer_;
  Uplink uplink_;
  Succession succession_;
  std::unique_ptr<Office> office_;  // while it coordinates
  /// What its two machines have to say to each other.
  std::deque<std::variant<CoordinatorEvent, Instruct>> later_;
  std::map<SessionId, std::optional<Hello>> sessions_;  // and those that were not answered yet
  ParticipantNotes notes_;
  bool is_ending_ = false;  // the job, and not all others know it
};

}  // namespace ddprun
