// Whose are the connections from other nodes to this node's store? Only the kernel of the node that
// a connection came from knows its user, so the agent there is asked.
//
// Agents may share an address, as two on one host do, or as hosts with a bridge of the same name
// do. Then several are asked, and one that knows the user is enough.
//
// Invariants
//   J1  Each connection is judged once, unless the store has closed it: admitted when one agent of
//       its address knows its user as the job's or root; refused when all say otherwise, or after
//       `patience`.
//   J2  An agent has one question at a time; only the answer to that counts. It is put again over
//       another connection where none comes for half of `patience`.
// Bounds
//   `lines_max` agents are connected at once; the others wait for one that has no question.
//   `sharers_max` agents are asked about a connection. The store bounds the connections.
#pragma once

#include "rendezvous/generations/generation.hpp"
#include "rendezvous/ip_network.hpp"
#include "rendezvous/machine_events.hpp"
#include "rendezvous/membership/messages.hpp"
#include "rendezvous/membership/uplink.hpp"
#include "rendezvous/units.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ddprun {

/// A connection has come, which the store knows by this number: larger than all before it.
struct OwnerWanted {
  SessionId held;
  IpConnection connection;
};
/// The store has closed it.
struct OwnerUnwanted {
  SessionId held;
};
using OwnerInquiryEvent =
    std::variant<OwnerWanted, OwnerUnwanted, ConnectionUp, ConnectionDown, Heard, Timeout>;

/// To the store: why it is refused; empty: it is of the job's user.
struct OwnerFound {
  SessionId held;
  std::string objection;
};
using OwnerInquiryAction = std::variant<Connect, Disconnect, SendUp, OwnerFound>;

struct OwnerInquiryOptions {
  Millis patience;  ///< A node that is silent for so long is lost.
  std::size_t lines_max = 64;
};

class OwnerInquiry {
 public:
  static constexpr std::size_t sharers_max = 8;
  /// After a connection that ended, before the next; at most an eighth of the patience.
  static constexpr Millis pause{250};

  OwnerInquiry(const std::vector<StorePeer>& peers, OwnerInquiryOptions options);

  /// Applies one event and appends what must be done, in order. Never blocks, reads a clock, logs
  /// or throws; total.
  void on_event(Instant now, const OwnerInquiryEvent& event, std::vector<OwnerInquiryAction>& out);

  [[nodiscard]] std::optional<Instant> next_deadline() const;

 private:
  using Actions = std::vector<OwnerInquiryAction>;
  using Index = std::size_t;  // of an agent
  struct Wanted {
    IpConnection connection;
    Instant deadline;
    std::vector<Index> asked;  // who may still know its user
  };
  struct Line {
    IpAddress address;  // where the agent listens, most likely
    std::uint16_t port = 0;
    ConnectionId connection;  // 0: there is none
    bool up = false;
    bool is_queued = false;
    std::deque<SessionId> waiting;  // to be asked next
    std::vector<SessionId> asked;   // in the question that has no answer yet
    std::int64_t questions = 0;
    int failures = 0;              // of connections, since the last answer
    std::optional<Instant> timer;  // without a connection: when the next may begin; else when the
                                   // answer is late
    std::string why = "it is silent";
  };

  void on(Instant now, const OwnerWanted& wanted, Actions& out);
  void on(Instant now, const OwnerUnwanted& unwanted, Actions& out);
  void on(Instant now, const ConnectionUp& up, Actions& out);
  void on(Instant now, const ConnectionDown& down, Actions& out);
  void on(Instant now, const Heard& heard, Actions& out);
  void on(Instant now, const Timeout& timeout, Actions& out);
  void take_answer(Instant now, Index agent, const OwnersTold& told, Actions& out);
  void give_up(SessionId held, const Wanted& wanted, Actions& out) const;
  void ask(Instant now, Index agent, Actions& out);
  void send_question(Instant now, Index agent, Actions& out);
  void forget_found(Line& line) const;
  void serve_queue(Actions& out);
  void connect(Index agent, Actions& out);
  void drop(Instant now, Index agent, Actions& out);
  void close(Instant now, Index agent, std::string why);
  void set_timer(Index agent, std::optional<Instant> at);
  [[nodiscard]] std::optional<Index> agent_of(ConnectionId connection) const;

  OwnerInquiryOptions options_;
  std::vector<Line> lines_;
  std::map<IpAddress, std::vector<Index>> agents_at_;
  std::map<SessionId, Wanted> wanted_;
  std::map<ConnectionId, Index> connected_;
  std::deque<Index> queue_;  // who has a question and no connection
  std::set<std::pair<Instant, Index>> timers_;
  ConnectionId newest_connection_;
};

}  // namespace ddprun
