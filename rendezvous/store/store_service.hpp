// What a StoreServer's thread does: moves bytes between clients and a KeyValue, and closes clients
// that the session ledger names.
//
// Bounds
//   See store_server.hpp.
#pragma once

#include "rendezvous/acceptor.hpp"
#include "rendezvous/ip_network.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/store/admission.hpp"
#include "rendezvous/store/key_value.hpp"
#include "rendezvous/store/reply_bytes.hpp"
#include "rendezvous/store/session_ledger.hpp"
#include "rendezvous/store/store_budget.hpp"
#include "rendezvous/store/store_codec.hpp"
#include "rendezvous/store/store_server.hpp"
#include "rendezvous/store/store_sockets.hpp"
#include "rendezvous/store/store_statistics.hpp"
#include "rendezvous/stranger_notes.hpp"
#include "rendezvous/units.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ddprun {

/// Runs on the thread of its context, all but the constructor and port().
class StoreService {
 public:
  using NoteHandler = std::function<void(std::string)>;

  StoreService(boost::asio::io_context& context,
               const std::string& address,
               std::uint16_t port,
               std::size_t memory_max,
               NoteHandler on_note);

  /// As StoreServer's, but that `questions` run on this thread.
  void open_for(Admission admission, StoreDialect ungreeted, StoreServer::OwnerQuestions questions);
  void judge(SessionId held, const std::string& objection);

  /// The end of it before the server's, for this reason.
  void give_up(const std::string& why);
  [[nodiscard]] std::string statistics() const {
    return statistics_.text(key_value_->key_count(), budget_.used(), budget_.max());
  }
  /// Bytes of the budget that are taken.
  [[nodiscard]] std::size_t memory_used() const { return budget_.used(); }
  [[nodiscard]] std::uint16_t port() const { return acceptor_->port(); }

 private:
  static constexpr std::size_t read_bytes = 64 * 1024;
  static constexpr std::size_t session_bytes = 1024;  // of the budget, for a connection

  struct Session {
    Session(StoreSocket connected, const IpEndpoint& from, StoreBudget& budget)
        : socket(std::move(connected)), peer(from), charge(budget, session_bytes) {}
    StoreSocket socket;
    IpEndpoint peer;
    StoreDecoder decoder;
    std::vector<StoreRequest> requests;  // of one read
    std::size_t executed = 0;            // of them
    std::size_t requests_bytes = 0;      // the memory that they take
    Result<void> decoded;                // an error: the bytes after the requests are invalid
    ReplyBytes outbox;                   // what the kernel has not taken yet
    StoreCharge charge;
    bool writing = false;        // waits until the socket takes more,
    bool takes_more = false;     // which it does, as far as is known
    bool reading = false;        // waits until bytes arrive,
    bool has_more = false;       // which they have, as far as is known
    bool has_ended = false;      // and no more will come after these
    bool is_touched = false;     // one of touched_
    bool awaits_turn = false;    // serve() is posted
    bool goes_on_later = false;  // one of later_
  };

  /// Of another node, whose agent is asked whose it is. Nothing of it is read meanwhile.
  struct Held {
    boost::asio::ip::tcp::socket socket;
    IpConnection connection;
    StoreCharge charge;
  };

  void meet(boost::asio::ip::tcp::socket socket, const boost::asio::ip::tcp::endpoint& peer);
  void hold(boost::asio::ip::tcp::socket socket, const IpConnection& connection);
  void open_session(boost::asio::ip::tcp::socket socket, const IpEndpoint& peer);
  [[nodiscard]] std::optional<Held> let_go(SessionId held);
  /// Closes others for it; a line says why there is none.
  [[nodiscard]] bool has_place();

  /// L4 of session_ledger.hpp, else L1; false if there is none.
  bool close_one_for_another();

  /// Closes the largest until there is room; false if that did not help.
  bool make_room(const std::function<bool()>& has_room);
  /// The same for its next request; false if it was closed itself.
  bool make_room_for_request(SessionId id);
  /// Whoever holds most memory; false if none has much.
  bool close_the_largest();
  /// With the values that replies to it keep, and the store does not hold any more.
  [[nodiscard]] static std::size_t memory_of(const Session& session);
  [[nodiscard]] std::string shortage(const std::string& what) const;
  void turn_away(const IpConnection& connection, const std::string& objection);
  void on_ready(const StoreSockets::Ready& ready);
  /// In one of the next turns, after what other clients have asked for.
  void go_on_later(SessionId id);
  void take_turn();
  void go_on(SessionId id);
  void wait_for_bytes(SessionId id);
  void on_readable(SessionId id);

  /// A connection of PyTorch 2.1 shows late that it is one: so what one has shown holds for all of
  /// its address, by L3 of session_ledger.hpp.
  void decode(SessionId id, Session& session, std::string_view bytes);

  /// L2 of session_ledger.hpp.
  void look_later();

  /// What it holds now is taken from the budget.
  static void settle(Session& session);

  /// Executes what the client has asked for, as long as it reads the replies; then reads on. What
  /// causes many replies is done in turns, between which other clients have theirs.
  void serve(SessionId id);
  void serve_later(SessionId id, Session& session);
  /// An error: the client must be closed, once its replies have been written.
  [[nodiscard]] Result<void> execute(SessionId id);
  void read_on(SessionId id);

  /// Nothing if all of its requests have been executed, or it is closed.
  [[nodiscard]] Session* with_request(SessionId id);
  [[nodiscard]] static bool has_enough_to_read(const Session& session);

  /// What is left of the waits that a key has woken, turn by turn.
  void work_on();
  void refuse(SessionId id, const std::string& why);

  /// Puts the replies into their sessions' outboxes, which are written at the end of the turn: so
  /// requests that came together are answered together. A large outbox is written at once.
  void deliver();

  /// Writes the outboxes that have become longer, turn by turn if they are many.
  void flush_touched();
  void flush_later();

  /// One slice of it: other work of the thread has its turn before the next.
  void flush(SessionId id);
  void on_writable(SessionId id);
  void close_session(SessionId id);

  boost::asio::io_context& context_;
  std::shared_ptr<Acceptor> acceptor_;
  std::shared_ptr<StrangerNotes> notes_;
  NoteHandler on_note_;
  StoreDialect ungreeted_ = StoreDialect::legacy;  // what connections without a greeting are
  Admission admission_{{}, {}, {}};
  StoreServer::OwnerQuestions questions_;
  SessionId newest_session_;
  StoreBudget budget_;  // before all that is charged to it
  StoreSockets sockets_;
  std::unordered_map<std::int64_t, Session> sessions_;
  std::map<std::int64_t, Held> held_;
  SessionLedger ledger_;
  boost::asio::steady_timer look_;
  bool looks_ = false;                 // look_ runs
  std::optional<KeyValue> key_value_;  // always one
  StoreStatistics statistics_;
  std::vector<StoreReply> replies_;
  std::vector<SessionId> touched_;       // whose outboxes have become longer, and are to be written
  bool flushes_later_ = false;           // another turn for them is posted
  std::vector<StoreRequest> spare_;      // empty: memory for the requests of the next read
  std::deque<SessionId> later_;          // who goes on in the next turns
  bool works_ = false;                   // another turn of it is posted
  std::array<char, read_bytes> buffer_;  // shared: an idle connection costs next to nothing
};

}  // namespace ddprun
