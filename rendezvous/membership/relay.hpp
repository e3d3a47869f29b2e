// The heartbeats of other agents that go through this one.
//
// In a job of many nodes most of the coordinator's time would go into heartbeats, a frame for each
// node and interval. So it names relays (see roster.hpp). A relay sends what arrived in an eighth
// of an interval in one message, and passes the answers on.
//
// It adds no time of its own: a lease counts from when its agent sent the heartbeat (U1 of the
// uplink). So a relay that is slow, suspended or lost can shorten a lease and never extend one.
//
// Bounds
//   `relayed_max` agents, further ones get no answer; of each only the newest heartbeat is kept.
#pragma once

#include "rendezvous/lease.hpp"
#include "rendezvous/membership/messages.hpp"
#include "rendezvous/membership/roster.hpp"
#include "rendezvous/units.hpp"

#include <map>
#include <optional>
#include <variant>
#include <vector>

namespace ddprun {

struct BeatArrived {
  SessionId session;
  BeatForRelay beat;
};
/// From the coordinator that this agent follows.
struct PassAcks {
  AckBatch batch;
};
using RelayEvent = std::variant<BeatArrived, SessionClosed, PassAcks, Timeout>;

/// To the coordinator of those among them that this agent follows, too.
struct PassBeats {
  std::vector<BeatForRelay> beats;
};
using RelayAction = std::variant<SendDown, PassBeats>;

class Relay {
 public:
  explicit Relay(LeaseTimes times) : collect_for_(times.heartbeat / 8) {}

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws; total.
  void on_event(Instant now, const RelayEvent& event, std::vector<RelayAction>& out);

  [[nodiscard]] std::optional<Instant> next_deadline() const { return pass_at_; }

  friend bool operator==(const Relay&, const Relay&) = default;

 private:
  using Actions = std::vector<RelayAction>;
  void on(Instant now, const BeatArrived& arrived, Actions& out);
  void on(Instant now, const SessionClosed& closed, Actions& out);
  void on(Instant now, const PassAcks& pass, Actions& out);
  void on(Instant now, const Timeout& timeout, Actions& out);

  Millis collect_for_;
  std::map<AgentId, SessionId> callers_;
  std::map<AgentId, BeatForRelay> waiting_;  // of callers
  std::optional<Instant> pass_at_;           // while some wait
};

}  // namespace ddprun
