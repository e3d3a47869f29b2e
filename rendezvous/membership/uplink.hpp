// The agent's side of its connection to the coordinator: it keeps the lease.
//
// Heartbeats go out at a fixed interval. Each answer extends the lease, counted from the sending of
// its heartbeat. When the lease ends the node's workers must die, since the coordinator may
// soon start others in their place. No news for the coordinator gets lost while this life of the
// agent lasts. Instructions of the coordinator are passed on once and in order; a start needs a
// lease, since it may have travelled for long.
//
// Silence for a third of the lease opens a second connection beside the first, on which the kernel
// may delay repetitions for seconds. The same holds for attempts to connect: one that is
// not up after an eighth of the lease is repeated. The first connection to answer is kept.
//
// The succession selects the leader to follow. With no leader, or a silent one, the uplink probes
// the last voters and the configured hosts; a process that does not lead names the leader. Only
// answers of the followed leader count. Once a leader has admitted the agent, another leader
// means a new life, without any message for the first one.
//
// An agent that gets answers without a lease does not give up: the coordinator is alive, and will
// decide for all nodes, with a better reason. But the agent gives up if it was told to start and
// gets no lease for that: the coordinator would wait for ever.
//
// A refusal before the handshake's end proves nothing: whoever has the endpoint's port can send it.
// So it ends an agent only if no coordinator has answered it yet, and nothing else has come from
// there for a while.
//
// Invariants
//   U1  The lease ends at most `lease` after the sending of a heartbeat that was answered.
//   U2  LeaseEnded comes at the first event after the lease's end, before anything else.
//   U3  Of each life, the coordinator hears all news once and in order, or declares it lost.
//   U4  News for one leader is not repeated to another, and its lease does not count there.
// Bounds
//   Two connections, and one to a relay. Heartbeats older than the lease are not waited for.
#pragma once

#include "rendezvous/generations/gathering.hpp"
#include "rendezvous/lease.hpp"
#include "rendezvous/membership/doors.hpp"
#include "rendezvous/membership/link_events.hpp"
#include "rendezvous/membership/messages.hpp"
#include "rendezvous/membership/outbox.hpp"
#include "rendezvous/membership/relay.hpp"
#include "rendezvous/membership/relay_path.hpp"
#include "rendezvous/succession/succession.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

struct UplinkOptions {
  AgentId agent = 0;
  std::string host;
  std::optional<NodeId> node;  ///< Its place in the order of nodes, if it was given one.
  bool witness = false;        ///< It is no node, and only votes.
  int nodes_min = 1;
  int nodes_max = 1;
  std::string endpoint;  ///< Where to look for the job, also for people.
  std::string contact;   ///< Where this process listens.
  Epoch mark;            ///< That was left on this node, of a job that has not ended; 0: none was.
  AgentSecret secret{};
  std::vector<std::string> other_doors;  ///< Further hosts where to look.
  /// Until a coordinator has answered; once one has, until it does again.
  Millis join_timeout = GatheringOptions{}.join_timeout;
  Millis replace_timeout = GatheringOptions{}.replace_timeout;
  LeaseTimes times;
  std::set<int> saving_signals;  ///< After an end by these the job is to go on.
  Millis retry_first{25};        ///< From a connection's end until the next attempt,
  Millis retry_max{1'000};       ///< which doubles with each one that nobody answers, up to this.
  Millis shut_out_for{10'000};   ///< Until the endpoint's refusal of a stranger is believed.
  friend bool operator==(const UplinkOptions&, const UplinkOptions&) = default;
};

struct ConnectionUp {
  ConnectionId connection;
  std::string peer;  ///< The address of the other end, and its port: no name, which may move.
};
/// The connection could not be made, or has ended.
struct ConnectionDown {
  ConnectionId connection;
  std::string why;
  bool shut_out = false;  ///< Version, job or token differ, said whoever listens there.
};
struct Heard {
  ConnectionId connection;
  ToAgent message;
};
struct TellNews {
  News news;
};
/// VotersChanged and NeededVoters come from this node's succession, which may know more than the
/// leader has told.
using UplinkEvent = std::variant<ConnectionUp,
                                 ConnectionDown,
                                 Heard,
                                 TellNews,
                                 Follow,
                                 Unfollow,
                                 VotersChanged,
                                 NeededVoters,
                                 PassBeats,
                                 Timeout>;

struct Connect {
  ConnectionId connection;
  std::string address;
  friend bool operator==(const Connect&, const Connect&) = default;
};
/// A process that has not proven itself said so at the endpoint, for a reason that is not the last.
struct ShutOut {
  std::string why;
  Millis until_final;
};
struct Disconnect {
  ConnectionId connection;
  friend bool operator==(const Disconnect&, const Disconnect&) = default;
};
struct SendUp {
  ConnectionId connection;
  ToCoordinator message;
};
/// Until when workers may live, for the guard; nothing when none may.
struct LeaseChanged {
  std::optional<Instant> until;
};
/// Who has to hear of it if this process dies: the leader that has admitted this agent, by its
/// address as ConnectionUp told it. Empty: nobody, as where this process leads.
struct WillIsFor {
  std::string address;
};
struct PassOn {
  Instruction instruction;
};
/// HeardOf, LeaderAnswered and RecordDecided are for the succession.
using UplinkAction = std::variant<Connect,
                                  Disconnect,
                                  SendUp,
                                  PassOn,
                                  HeardOf,
                                  LeaderAnswered,
                                  RecordDecided,
                                  PassAcks,
                                  LeaseChanged,
                                  WillIsFor,
                                  LeaseEnded,
                                  LifeEnded,
                                  ShutOut,
                                  GiveUp>;

class Uplink {
 public:
  explicit Uplink(UplinkOptions options);

  /// The first actions: call once, before any event.
  void start(Instant now, std::vector<UplinkAction>& out);

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws; total.
  void on_event(Instant now, const UplinkEvent& event, std::vector<UplinkAction>& out);

  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// Until when workers may live, for the guard; nothing when none may.
  [[nodiscard]] std::optional<Instant> lease_end() const { return lease_end_; }

  /// Why it has no lease, for people.
  [[nodiscard]] std::string no_lease() const;

  /// The leader of this life of the agent, whether or not it still leads.
  [[nodiscard]] const std::optional<Leader>& served_by() const { return served_; }

  /// To be asked when its leader is lost: the newest voters that it knows, or none.
  [[nodiscard]] const Voters& voters() const { return voters_; }

  friend bool operator==(const Uplink&, const Uplink&) = default;

 private:
  using Actions = std::vector<UplinkAction>;
  struct Line {
    ConnectionId id;
    bool up = false;
    bool answered = false;
    Instant since;  // it was begun, or is up
    std::string door;
    bool at_endpoint = false;
    std::string peer;
    std::optional<Leader> leader;  // the process at the other end, once it has said so
    bool refused = false;          // by that leader
    friend bool operator==(const Line&, const Line&) = default;
  };
  struct Sent {
    std::int64_t number = 0;
    Instant at;
    friend bool operator==(const Sent&, const Sent&) = default;
  };

  void on(Instant now, const ConnectionUp& up, Actions& out);
  void on(Instant now, const ConnectionDown& down, Actions& out);
  void on(Instant now, const Heard& heard, Actions& out);
  void on(Instant now, const TellNews& tell, Actions& out);
  void on(Instant now, const Follow& follow, Actions& out);
  void on(Instant now, const Unfollow&, Actions& out);
  void on(Instant now, const VotersChanged& changed, Actions& out);
  void on(Instant now, const NeededVoters& needed, Actions& out);
  void on(Instant now, const PassBeats& pass, Actions& out);
  void on(Instant now, const Timeout& timeout, Actions& out);
  void hear(Instant now, ConnectionId from, const Welcome& welcome, Actions& out);
  void hear(Instant now, ConnectionId from, const Redirect& redirect, Actions& out);
  void hear(Instant now, ConnectionId from, const VotersChanged& changed, Actions& out);
  void hear(Instant now, ConnectionId from, const Ack& ack, Actions& out);
  void hear(Instant now, ConnectionId from, const Forgotten& forgotten, Actions& out);
  void hear(Instant now, ConnectionId from, const Refused& refused, Actions& out);
  void hear(Instant now, ConnectionId from, const Numbered<Instruction>& instruction, Actions& out);

  void connect(Instant now, Actions& out);
  void connect_later(Instant now);
  void be_shut_out(Instant now, const std::string& why, Actions& out);
  void forget_all(Instant now, Actions& out);
  void greet(ConnectionId connection, Actions& out) const;
  void hear_of(const Line& line, const Leader& leader, Actions& out) const;
  [[nodiscard]] bool at_own_leaders_place(const Line& line) const;
  void learn_voters(const Voters& voters, const RecordId& record);
  void take_voters(const Voters& voters, const RecordId& record, Actions& out);
  void learn_of(const Leader& leader, Actions& out);
  [[nodiscard]] bool is_orphaned(const Line& line) const;
  void enter(Instant now, ConnectionId connection, Actions& out);
  void leave_will_to(const std::string& address, Actions& out);
  void repeat_news(ConnectionId connection, Actions& out) const;
  [[nodiscard]] bool leads_to_followed(const Line& line) const;
  void hear(Instant now, ConnectionId from, const UseRelay& use, Actions& out);
  void hear(Instant now, ConnectionId from, const AckBatch& batch, Actions& out);
  void hear(Instant, ConnectionId, const AckFromRelay&, Actions&) {}  // it comes over no line
  void hear(Instant, ConnectionId, const OwnersTold&, Actions&) {}    // nor is it asked for here
  [[nodiscard]] bool is_followed(AgentId leader, Epoch reign) const;
  void hear_relay(Instant now, const ToAgent& message, Actions& out);
  void connect_relay(Actions& out);
  void use_relay(Instant now, const std::string& address, Actions& out);
  [[nodiscard]] bool accept_answer(Instant now, const Ack& ack, Actions& out);
  enum class Way { any, direct };
  void beat(Instant now, Way way, Actions& out);
  void end_lease_if_due(Instant now, Actions& out);
  [[nodiscard]] Millis patience() const;
  void stop_waiting(Actions& out);
  void doubt(Instant now, Actions& out);
  void keep_only(ConnectionId connection, Actions& out);
  [[nodiscard]] Line* find(ConnectionId connection);
  [[nodiscard]] const Line* newest_entered() const;

  UplinkOptions options_;
  Incarnation self_;
  bool any_place_;
  std::optional<Leader> followed_;
  std::optional<Leader> served_;  // the leader of this life
  std::string served_at_;         // the address where it last answered
  std::string will_is_for_;       // whom the guard tells; empty where this process leads, too
  bool job_is_over_ = false;      // as this life was told
  bool let_in_ = false;           // some leader has ever admitted this agent
  Epoch knows_;
  Voters voters_;       // to be asked when it is lost
  RecordId voters_of_;  // the record that names them
  std::set<AgentId> needed_;
  Doors doors_;
  std::vector<Line> lines_;  // oldest first
  ConnectionId connections_;
  std::optional<Instant> connect_at_;
  std::optional<Instant> suspect_at_;
  Instant beat_at_;
  std::deque<Sent> beats_;  // not answered yet
  RelayPath relay_;
  std::int64_t beats_count_ = 0;
  std::optional<Instant> lease_end_;
  AgentId coordinator_ = 0;            // the one that has admitted this life
  Millis retry_;                       // until the next attempt
  bool answered_ = false;              // some coordinator has ever answered
  std::optional<Instant> give_up_at_;  // unless there is a lease or an answer by then
  std::string why_down_;               // the last connection that was not refused, since then
  std::string refusal_;                // the last one, unless there was a lease since
  std::optional<Instant> refused_since_;
  Leader refused_by_;
  std::optional<Instant> shut_out_since_;  // for the same reason, and by nothing else there
  std::string shut_out_why_;
  std::optional<News> end_asked_;  // of this node at least
  Outbox<News> outbox_;
  Inbox inbox_;
  std::int64_t put_off_ = 0;         // the number of a start that came without a lease
  std::int64_t newest_put_off_ = 0;  // and of what came after it and waits for it
};

}  // namespace ddprun
