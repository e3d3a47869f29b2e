#include "rendezvous/store/store_server.hpp"

#include "rendezvous/acceptor.hpp"
#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/store/key_value.hpp"
#include "rendezvous/store/reply_bytes.hpp"
#include "rendezvous/store/session_ledger.hpp"
#include "rendezvous/store/store_budget.hpp"
#include "rendezvous/store/store_codec.hpp"
#include "rendezvous/store/store_statistics.hpp"
#include "rendezvous/stranger_notes.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sodium.h>

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ddprun {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t store_read_bytes = 64 * 1024;
constexpr std::size_t slice_bytes_max = 1024 * 1024;  // written to one client at once
constexpr std::size_t slice_parts_max = 16;
constexpr std::size_t session_bytes = 1024;    // of the budget, for a connection
constexpr std::size_t worth_closing = 65'536;  // bytes that a connection holds
constexpr Millis request_time_max{60'000};

struct Session {
  Session(tcp::socket connected, const IpEndpoint& from, StoreBudget& budget)
      : socket(std::move(connected)), peer(from), charge(budget, session_bytes) {}
  tcp::socket socket;
  IpEndpoint peer;
  StoreDecoder decoder;
  std::vector<StoreRequest> requests;  // of one read
  std::size_t executed = 0;            // of them
  std::size_t requests_bytes = 0;      // the memory that they take
  Result<void> decoded;                // an error: the bytes after the requests are invalid
  ReplyBytes outbox;                   // what the kernel has not taken yet
  StoreCharge charge;
  std::size_t held = 0;  // as the ledger knows it
  bool writing = false;  // waits until the socket takes more
  bool reading = false;  // waits until bytes arrive
};

/// How many connections the process can hold for the store: half of its descriptors are for
/// workers, and for the job's other nodes.
std::size_t connections_max() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return sessions_max;
  return std::min<std::size_t>(sessions_max, files.rlim_cur / 2);
}

Instant time_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

/// Nothing for a socket that is gone.
std::optional<IpEndpoint> ip_endpoint(const tcp::endpoint& endpoint) {
  const auto address = parse_ip_address(endpoint.address().to_string());
  if (!address) return std::nullopt;
  return IpEndpoint{*address, endpoint.port()};
}

StoreHash seeded_hash() {
  StoreHash hash;
  randombytes_buf(hash.seed.data(), hash.seed.size());
  return hash;
}

/// On the server's thread, all but the constructor and port().
class StoreService {
 public:
  StoreService(boost::asio::io_context& context,
               const std::string& address,
               std::uint16_t port,
               std::size_t memory_max,
               StoreServer::NoteHandler on_note)
      : context_(context),
        notes_(std::make_shared<StrangerNotes>(context, on_note)),
        on_note_(std::move(on_note)),
        budget_(memory_max),
        deadline_(context) {
    key_value_.emplace(budget_, KeyValueLimits{}, seeded_hash());
    Acceptor::Handlers handlers;
    handlers.on_connection = [this](tcp::socket socket, const tcp::endpoint& peer) {
      open_session(std::move(socket), peer);
    };
    handlers.make_room = [this](const std::string&) { return close_a_silent_one(); };
    handlers.on_pause = [this](const std::string& why) {
      notes_->add("store: cannot accept another connection: " + why);
    };
    acceptor_ = std::make_shared<Acceptor>(context, address, port, std::move(handlers));
  }

  void open_for(Admission admission, StoreDialect ungreeted) {
    admission_ = std::move(admission);
    ungreeted_ = ungreeted;
    acceptor_->start();
  }

  /// The end of it before the server's, for this reason.
  void give_up(const std::string& why) {
    acceptor_->close();
    sessions_.clear();
    key_value_.emplace(budget_, KeyValueLimits{}, seeded_hash());
    on_note_("store: closed, with all connections, so that the workers fail: " + why);
  }

  [[nodiscard]] std::string statistics() const { return statistics_.text(key_value_->key_count()); }
  [[nodiscard]] std::uint16_t port() const { return acceptor_->port(); }

 private:
  void open_session(tcp::socket socket, const tcp::endpoint& peer) {
    error_code error;
    const auto local = ip_endpoint(socket.local_endpoint(error));
    const auto remote = ip_endpoint(peer);
    if (!local || !remote || !is_admitted(*local, *remote)) return;
    if (sessions_.size() >= connections_max() && !close_a_silent_one()) {
      statistics_.on_refused();
      return notes_->add(fmt::format("store: {} connections; one more was refused (ulimit -n?)",
                                     sessions_.size()));
    }
    if (!make_room(session_bytes)) {
      statistics_.on_refused();
      return notes_->add(shortage("one more connection was refused"));
    }
    socket.set_option(tcp::no_delay(true), error);
    statistics_.on_connected();
    const SessionId id = ++newest_session_;
    sessions_.emplace(id.value, Session(std::move(socket), *remote, budget_));
    ledger_.on_opened(id, remote->address);
    wait_for_bytes(id);
  }

  /// L2 of session_ledger.hpp; false if there is none.
  bool close_a_silent_one() {
    const auto silent = ledger_.oldest_silent();
    if (silent) refuse(*silent, "it has said nothing, and connections are short");
    return silent.has_value();
  }

  /// L1 of session_ledger.hpp, until there is so much memory; false if that did not help.
  bool make_room(std::size_t bytes) {
    while (!budget_.has_room(bytes)) {
      const auto largest = ledger_.largest(worth_closing);
      if (!largest) return false;
      const Session& session = sessions_.at(largest->value);
      refuse(*largest,
             shortage(fmt::format("it had {} bytes of replies unread, and {} of requests",
                                  session.outbox.size(),
                                  session.decoder.held() + session.requests_bytes)));
    }
    return true;
  }

  [[nodiscard]] std::string shortage(const std::string& what) const {
    return fmt::format(
        "{}: the store's memory is short: {} of {} bytes are taken; raise --store-memory, or "
        "--max-memory of ddprun store",
        what,
        budget_.used(),
        budget_.max());
  }

  [[nodiscard]] bool is_admitted(const IpEndpoint& local, const IpEndpoint& peer) {
    const std::string objection = admission_.objection(local, peer);
    if (objection.empty()) return true;
    statistics_.on_refused();
    if (const auto said = admission_.refuse(peer.address, objection)) on_note_(*said);
    return false;
  }

  void wait_for_bytes(SessionId id) {
    Session& session = sessions_.at(id.value);
    session.reading = true;
    session.socket.async_wait(tcp::socket::wait_read, [this, id](error_code error) {
      if (!error) on_readable(id);
    });
  }

  void on_readable(SessionId id) {
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end()) return;
    Session& session = found->second;
    session.reading = false;
    error_code error;
    const std::size_t count = session.socket.read_some(boost::asio::buffer(buffer_), error);
    if (error && error != boost::asio::error::would_block) return close_session(id);
    decode(session, {buffer_.data(), count});
    for (const StoreRequest& each : session.requests) session.requests_bytes += bytes_of(each);
    if (count > 0) {
      ledger_.on_bytes(id, !session.requests.empty(), session.decoder.has_begun(), time_now());
      set_deadline();
    }
    settle(id, session);
    if (!make_room(0)) return refuse(id, shortage("its request was refused"));
    serve(id);
  }

  /// A connection of PyTorch 2.1 shows late that it is one: so what one has shown holds for all of
  /// its address.
  void decode(Session& session, std::string_view bytes) {
    const IpAddress& address = session.peer.address;
    if (ungreeted_ == StoreDialect::torch_2_1 || addresses_of_2_1_.contains(address)) {
      session.decoder.assume_2_1();
    }
    const StoreDialect before = session.decoder.dialect();
    session.decoded = session.decoder.feed(bytes, session.requests);
    const StoreDialect now = session.decoder.dialect();
    statistics_.on_dialect(before, now);
    const bool is_of_2_1 = now == StoreDialect::torch_2_1;
    if (is_of_2_1 && addresses_of_2_1_.size() < sessions_max) addresses_of_2_1_.insert(address);
  }

  /// L3 of session_ledger.hpp.
  void set_deadline() {
    const auto next = ledger_.next_deadline();
    if (!next || (timed_ && *timed_ <= *next)) return;
    timed_ = next;
    deadline_.expires_after(std::chrono::milliseconds((*next - time_now()).count));
    deadline_.async_wait([this](error_code error) {
      if (error) return;
      timed_.reset();
      while (const auto late = ledger_.overdue(time_now())) {
        refuse(*late,
               fmt::format("its request is not whole after {} s", in_seconds(request_time_max)));
      }
      set_deadline();
    });
  }

  /// What it holds now is taken from the budget.
  void settle(SessionId id, Session& session) {
    const std::size_t unfinished = session.decoder.held() + session.requests_bytes;
    session.charge.resize(session_bytes + unfinished + session.outbox.held());
    const std::size_t held = unfinished + session.outbox.size();
    if (std::exchange(session.held, held) != held) ledger_.on_held(id, held);
  }

  /// Executes what the client has asked for, as long as it reads the replies; then reads on.
  void serve(SessionId id) {
    while (Session* session = with_request(id)) {
      if (has_enough_to_read(*session)) return;  // on_writable goes on
      make_room(key_value_->cost_of(session->requests[session->executed]));
      session = with_request(id);  // it may have been the largest
      if (session == nullptr) return;
      StoreRequest request = std::move(session->requests[session->executed++]);
      statistics_.on_request(request.operation);
      const auto done =
          key_value_->on_request(id, session->decoder.dialect(), std::move(request), replies_);
      deliver();
      if (!done) return refuse(id, done.error().message());
    }
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end()) return;
    Session& session = found->second;
    if (!session.decoded) return refuse(id, session.decoded.error().message());
    session.requests = {};
    session.executed = session.requests_bytes = 0;
    settle(id, session);
    if (!session.reading && !has_enough_to_read(session)) wait_for_bytes(id);
  }

  /// Nothing if all of its requests have been executed, or it is closed.
  [[nodiscard]] Session* with_request(SessionId id) {
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end()) return nullptr;
    Session& session = found->second;
    return session.executed < session.requests.size() ? &session : nullptr;
  }

  [[nodiscard]] static bool has_enough_to_read(const Session& session) {
    return session.outbox.size() > unread_reply_bytes_max;
  }

  /// What is left of the waits that a key has woken, turn by turn.
  void work_on() {
    if (!key_value_->has_work() || works_) return;
    works_ = true;
    boost::asio::post(context_, [this] {
      works_ = false;
      key_value_->work(replies_);
      deliver();
    });
  }

  void refuse(SessionId id, const std::string& why) {
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end()) return;
    statistics_.on_refused();
    const IpEndpoint& peer = found->second.peer;
    notes_->add(fmt::format("store: {}: {}", endpoint_text(text_of(peer.address), peer.port), why));
    close_session(id);
  }

  /// Puts the replies into their sessions' outboxes, then writes each outbox once.
  void deliver() {
    std::vector<SessionId> touched;
    for (StoreReply& reply : replies_) {
      const auto found = sessions_.find(reply.session.value);
      if (found == sessions_.end()) continue;
      if (found->second.outbox.empty()) touched.push_back(reply.session);
      found->second.outbox.append(std::move(reply.bytes));
      settle(reply.session, found->second);
    }
    replies_.clear();
    for (const SessionId id : touched) flush(id);
    work_on();
  }

  /// One slice of it: other work of the thread has its turn before the next.
  void flush(SessionId id) {
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end() || found->second.writing) return;
    Session& session = found->second;
    std::array<std::string_view, slice_parts_max> views;
    std::array<boost::asio::const_buffer, slice_parts_max> buffers;
    const std::size_t count = session.outbox.front(views, slice_bytes_max);
    for (std::size_t i = 0; i < count; ++i) buffers[i] = boost::asio::buffer(views[i]);
    error_code error;
    const std::size_t written = session.socket.write_some(std::span(buffers).first(count), error);
    if (error && error != boost::asio::error::would_block) return close_session(id);
    session.outbox.drop_front(written);
    settle(id, session);
    if (session.outbox.empty()) return;
    session.writing = true;
    session.socket.async_wait(tcp::socket::wait_write, [this, id](error_code failed) {
      if (!failed) on_writable(id);
    });
  }

  void on_writable(SessionId id) {
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end()) return;
    found->second.writing = false;
    flush(id);
    serve(id);
  }

  void close_session(SessionId id) {
    key_value_->on_session_lost(id);
    if (sessions_.erase(id.value) > 0) statistics_.on_disconnected();
    ledger_.on_closed(id);
  }

  boost::asio::io_context& context_;
  std::shared_ptr<Acceptor> acceptor_;
  std::shared_ptr<StrangerNotes> notes_;
  StoreServer::NoteHandler on_note_;
  StoreDialect ungreeted_ = StoreDialect::legacy;  // what connections without a greeting are
  std::set<IpAddress> addresses_of_2_1_;
  Admission admission_{{}, {}};
  SessionId newest_session_;
  StoreBudget budget_;  // before all that is charged to it
  std::unordered_map<std::int64_t, Session> sessions_;
  SessionLedger ledger_{request_time_max};
  boost::asio::steady_timer deadline_;
  std::optional<Instant> timed_;       // when deadline_ ends
  std::optional<KeyValue> key_value_;  // always one
  StoreStatistics statistics_;
  std::vector<StoreReply> replies_;
  bool works_ = false;                         // another turn of it is posted
  std::array<char, store_read_bytes> buffer_;  // shared: an idle connection costs next to nothing
};

/// In this thread, and for those that it starts: signals are for the caller's threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

/// The thread, and what the caller's thread shares with it: the way of notes to the caller.
class StoreServer::Impl {
 public:
  Impl(boost::asio::io_context& caller,
       const std::string& address,
       std::uint16_t port,
       std::size_t memory_max,
       NoteHandler on_note)
      : caller_(caller),
        on_note_(std::make_shared<NoteHandler>(std::move(on_note))),
        service_(context_, address, port, memory_max, note_by_caller()) {
    const SignalsBlocked for_the_thread;
    thread_ = std::thread([this] { serve(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    context_.stop();
    thread_.join();
  }

  void open_for(Admission admission, StoreDialect ungreeted) {
    boost::asio::post(context_, [this, ungreeted, admission = std::move(admission)]() mutable {
      service_.open_for(std::move(admission), ungreeted);
    });
  }

  void on_given_up(std::function<void()> handler) { on_given_up_ = std::move(handler); }

  void ask_statistics(std::function<void(std::string)> on_answer) {
    boost::asio::post(context_, [this, on_answer = std::move(on_answer)] {
      tell_caller([on_answer, text = service_.statistics()] { on_answer(text); });
    });
  }

  [[nodiscard]] std::uint16_t port() const { return service_.port(); }

 private:
  /// What is left of a request that ran out of memory is unknown, so no other is served.
  void serve() {
    try {
      context_.run();
    } catch (const std::exception& error) {
      service_.give_up(error.what());
      if (on_given_up_) tell_caller(on_given_up_);
    }
  }

  /// What arrives there after the server's end is dropped.
  void tell_caller(std::function<void()> handler) const {
    boost::asio::post(caller_, [weak = std::weak_ptr(on_note_), handler = std::move(handler)] {
      if (const auto is_alive = weak.lock()) handler();
    });
  }

  [[nodiscard]] NoteHandler note_by_caller() const {
    return [this](std::string note) {
      tell_caller([this, note = std::move(note)] { (*on_note_)(note); });
    };
  }

  boost::asio::io_context& caller_;
  std::shared_ptr<NoteHandler> on_note_;
  std::function<void()> on_given_up_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      context_.get_executor()};
  StoreService service_;  // after the context, whose handlers know it
  std::thread thread_;
};

Result<std::unique_ptr<StoreServer>> StoreServer::listen(boost::asio::io_context& context,
                                                         const std::string& address,
                                                         std::uint16_t port,
                                                         std::size_t memory_max,
                                                         NoteHandler on_note) {
  try {
    auto impl = std::make_unique<Impl>(context, address, port, memory_max, std::move(on_note));
    return std::unique_ptr<StoreServer>(new StoreServer(std::move(impl)));
  } catch (const boost::system::system_error& error) {
    const std::string place = port == 0 ? address : endpoint_text(address, port);
    return Error(ExitStatus::system_refused,
                 fmt::format("cannot open a store on {}", place),
                 error.code().message(),
                 port == 0 ? "check the address, and ulimit -n"
                           : "name another port, or none: any that is free does");
  } catch (const std::system_error& error) {
    return Error(ExitStatus::system_refused,
                 "cannot start a thread for the store",
                 error.code().message(),
                 "check ulimit -u, and the job's limit of processes");
  }
}

StoreServer::StoreServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
void StoreServer::open_for(Admission admission, StoreDialect ungreeted) {
  impl_->open_for(std::move(admission), ungreeted);
}
void StoreServer::on_given_up(std::function<void()> handler) {
  impl_->on_given_up(std::move(handler));
}
void StoreServer::ask_statistics(std::function<void(std::string)> on_answer) const {
  impl_->ask_statistics(std::move(on_answer));
}
StoreServer::~StoreServer() = default;
std::uint16_t StoreServer::port() const {
  return impl_->port();
}

}  // namespace ddprun
