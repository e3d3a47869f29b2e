// A process's whole part in a job of many nodes: its connection to the coordinator (the uplink),
// its vote on the leader (the succession) and, while it leads, the coordinator and its roster.
//
// The agent of the coordinator's own process connects to it like any other agent:
// so its lease ends with the lead.
//
// Order
//   Messages between uplink and succession are delivered at once, as is a proposal. Messages
//   between the coordinator and its roster wait until all other effects of the same event
//   are done; none of them is left at the end of the event.
// Bounds
//   One hello for each session, until the succession has answered it.
#pragma once

#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/membership/link_events.hpp"
#include "rendezvous/membership/participant_notes.hpp"
#include "rendezvous/membership/relay.hpp"
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
  std::optional<NodeId> node;            ///< Its place in the order of nodes, if it was given one.
  bool witness = false;                  ///< It is no node, and only votes.
  bool founds = false;                   ///< It founds the job if it finds none,
  bool is_at_endpoint = false;           ///< and can be reached at the endpoint.
  std::string contact;                   ///< Where this process listens.
  std::string endpoint;                  ///< Where new processes look for the job.
  std::string port_taken;                ///< The address where it should have listened, if another
                                         ///< process does: then this one founds nothing.
  std::vector<std::string> other_doors;  ///< Further hosts where new processes look.
  std::string folder;                    ///< For claims, as people know it; empty: there is none.
  bool keeps_marks = false;
  Epoch mark;  ///< That was left on this node, of a job that has not ended; 0: none was.
  AgentSecret secret{};
  LeaseTimes times;
  RelayOptions relays;
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
/// Ask the kernel, and answer there by OwnersTold.
struct LookUpOwners {
  SessionId session;
  OwnersAsked question;
};
/// The job is over, and no other process waits for a message from this one.
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
                                       WillIsFor,
                                       LookUpOwners,
                                       Note,
                                       AllTold>;

/// Sees the events of each machine of a participant, and its actions before they are
/// performed.
class ParticipantObserver {
 public:
  virtual ~ParticipantObserver() = default;

  virtual void told(const Uplink&, const UplinkEvent&) {}
  virtual void told(const Succession&, const SuccessionEvent&) {}
  virtual void told(const Coordinator&, const CoordinatorEvent&) {}
  virtual void told(const Roster&, const RosterEvent&) {}
  virtual void told(const Relay&, const RelayEvent&) {}
  virtual void answered(const Uplink&, const std::vector<UplinkAction>&) {}
  virtual void answered(const Succession&, const std::vector<SuccessionAction>&) {}
  virtual void answered(const Coordinator&, const std::vector<CoordinatorAction>&) {}
  virtual void answered(const Roster&, const std::vector<RosterAction>&) {}
  virtual void answered(const Relay&, const std::vector<RelayAction>&) {}

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

  /// What the job cannot go on without, as far as this process knows, also for people.
  [[nodiscard]] Wait waits() const;
  [[nodiscard]] std::string waits_for() const;

  [[nodiscard]] const Uplink& uplink() const { return uplink_; }
  [[nodiscard]] const Succession& succession() const { return succession_; }
  /// Null while another process coordinates, or none.
  [[nodiscard]] const Coordinator* coordinator() const {
    return head_ ? &head_->coordinator : nullptr;
  }

 private:
  /// The coordinator's side of the job, in the process that is its head.
  struct Head {
    Coordinator coordinator;
    Roster roster;
  };

  template <typename Action, typename Machine, typename Event>
  void tell(Instant now, Machine& machine, const Event& event, Actions& out);
  void tell_uplink(Instant now, const UplinkEvent& event, Actions& out);
  void tell_succession(Instant now, const SuccessionEvent& event, Actions& out);
  void tell_coordinator(Instant now, const CoordinatorEvent& event, Actions& out);
  void tell_roster(Instant now, const RosterEvent& event, Actions& out);
  void tell_relay(Instant now, const RelayEvent& event, Actions& out);
  void perform(Instant now, const UplinkAction& action, Actions& out);
  void perform(Instant now, const SuccessionAction& action, Actions& out);
  void perform(Instant now, const CoordinatorAction& action, Actions& out);
  void perform(Instant now, const RosterAction& action, Actions& out);
  void perform(Instant now, const RelayAction& action, Actions& out);
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
  void step_down(const StepDown& stepped_down, Actions& out);
  void settle(Instant now, Actions& out);
  static void say(std::string text, Actions& out);

  ParticipantOptions options_;
  ParticipantObserver& observer_;
  Uplink uplink_;
  Succession succession_;
  Relay relay_;
  std::unique_ptr<Head> head_;  // while it coordinates
  /// Pending messages between its two machines.
  std::deque<std::variant<CoordinatorEvent, Instruct>> later_;
  std::map<SessionId, std::optional<Hello>> sessions_;  // and those that were not answered yet
  ParticipantNotes notes_;
  bool is_ending_ = false;  // the job, and not all others know it
};

}  // namespace ddprun
