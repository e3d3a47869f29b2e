#include "rendezvous/store/store_server.hpp"

#include "rendezvous/acceptor.hpp"
#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/store/key_value.hpp"
#include "rendezvous/store/store_codec.hpp"
#include "rendezvous/stranger_notes.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <sodium.h>

#include <signal.h>

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <iterator>
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
constexpr std::size_t outbox_bytes_max = std::size_t{1}
                                         << 29;  // a client that reads nothing at all

struct Session {
  Session(tcp::socket connected, std::string peer_name)
      : socket(std::move(connected)), peer(std::move(peer_name)) {}
  tcp::socket socket;
  std::string peer;
  StoreDecoder decoder;
  std::deque<StoreRequest> requests;  // of one read, not executed yet
  Result<void> decoded;               // an error: the bytes after the requests are invalid
  std::string outbox;                 // replies that the kernel has not taken yet
  std::size_t sent = 0;               // of the outbox
  bool writing = false;               // waits until the socket takes more
  bool reading = false;               // waits until bytes arrive
};

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
               StoreServer::NoteHandler on_note)
      : context_(context),
        notes_(std::make_shared<StrangerNotes>(context, on_note)),
        on_note_(std::move(on_note)) {
    Acceptor::Handlers handlers;
    handlers.on_connection = [this](tcp::socket socket, const tcp::endpoint& peer) {
      open_session(std::move(socket), peer);
    };
    handlers.on_pause = [this](const std::string& why) {
      notes_->add("store: cannot accept another connection: " + why);
    };
    acceptor_ = std::make_shared<Acceptor>(context, address, port, std::move(handlers));
  }

  void open_for(Admission admission) {
    admission_ = std::move(admission);
    acceptor_->start();
  }

  /// The end of it before the server's, for this reason.
  void give_up(const std::string& why) {
    acceptor_->close();
    sessions_.clear();
    key_value_ = KeyValue({}, seeded_hash());
    on_note_("store: closed, with all connections, so that the workers fail: " + why);
  }

  [[nodiscard]] std::uint16_t port() const { return acceptor_->port(); }

 private:
  void open_session(tcp::socket socket, const tcp::endpoint& peer) {
    if (sessions_.size() >= sessions_max) {
      return notes_->add(fmt::format("store: {} connections; one more was refused", sessions_max));
    }
    const auto address = parse_ip_address(peer.address().to_string());
    if (!address || !is_admitted(*address)) return;
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const SessionId id = ++newest_session_;
    sessions_.emplace(id.value,
                      Session(std::move(socket), endpoint_text(text_of(*address), peer.port())));
    wait_for_bytes(id);
  }

  [[nodiscard]] bool is_admitted(const IpAddress& address) {
    if (admission_.admits(address)) return true;
    if (const auto said = admission_.refuse(address)) on_note_(*said);
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
    std::vector<StoreRequest> requests;
    session.decoded = session.decoder.feed({buffer_.data(), count}, requests);
    std::ranges::move(requests, std::back_inserter(session.requests));
    serve(id);
  }

  /// Executes what the client has asked for, as long as it reads the replies; then reads on.
  void serve(SessionId id) {
    auto found = sessions_.find(id.value);
    while (found != sessions_.end() && !found->second.requests.empty()) {
      Session& session = found->second;
      if (has_enough_to_read(session)) return;  // on_writable goes on
      StoreRequest request = std::move(session.requests.front());
      session.requests.pop_front();
      const auto done =
          key_value_.on_request(id, session.decoder.dialect(), std::move(request), replies_);
      deliver();
      found = sessions_.find(id.value);  // delivering may close sessions
      if (!done) return refuse(id, done.error());
    }
    if (found == sessions_.end()) return;
    if (!found->second.decoded) return refuse(id, found->second.decoded.error());
    if (!found->second.reading && !has_enough_to_read(found->second)) wait_for_bytes(id);
  }

  [[nodiscard]] static bool has_enough_to_read(const Session& session) {
    return session.outbox.size() > unread_reply_bytes_max;
  }

  /// What is left of the waits that a key has woken, turn by turn.
  void work_on() {
    if (!key_value_.has_work() || works_) return;
    works_ = true;
    boost::asio::post(context_, [this] {
      works_ = false;
      key_value_.work(replies_);
      deliver();
    });
  }

  void refuse(SessionId id, const Error& error) {
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end()) return;
    notes_->add(fmt::format("store: {}: {}", found->second.peer, error.message()));
    close_session(id);
  }

  /// Puts the replies into their sessions' outboxes, then writes each outbox once.
  void deliver() {
    std::vector<SessionId> touched;
    for (StoreReply& reply : replies_) {
      const auto found = sessions_.find(reply.session.value);
      if (found == sessions_.end()) continue;
      if (found->second.outbox.empty()) touched.push_back(reply.session);
      found->second.outbox += reply.bytes;
      if (found->second.outbox.size() > outbox_bytes_max) close_session(reply.session);
    }
    replies_.clear();
    for (const SessionId id : touched) flush(id);
    work_on();
  }

  void flush(SessionId id) {
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end() || found->second.writing) return;
    Session& session = found->second;
    error_code error;
    session.sent +=
        session.socket.write_some(boost::asio::buffer(session.outbox) + session.sent, error);
    if (error && error != boost::asio::error::would_block) return close_session(id);
    if (session.sent == session.outbox.size()) {
      session.outbox = {};  // its memory as well
      session.sent = 0;
      return;
    }
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
    key_value_.on_session_lost(id);
    sessions_.erase(id.value);
  }

  boost::asio::io_context& context_;
  std::shared_ptr<Acceptor> acceptor_;
  std::shared_ptr<StrangerNotes> notes_;
  StoreServer::NoteHandler on_note_;
  Admission admission_{{}, {}};
  SessionId newest_session_;
  std::unordered_map<std::int64_t, Session> sessions_;
  KeyValue key_value_{{}, seeded_hash()};
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
       NoteHandler on_note)
      : on_note_(std::make_shared<NoteHandler>(std::move(on_note))),
        service_(context_, address, port, note_by(caller)) {
    const SignalsBlocked for_the_thread;
    thread_ = std::thread([this] { serve(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    context_.stop();
    thread_.join();
  }

  void open_for(Admission admission) {
    boost::asio::post(context_, [this, admission = std::move(admission)]() mutable {
      service_.open_for(std::move(admission));
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
    }
  }

  /// A note that arrives after the server's end is dropped.
  [[nodiscard]] NoteHandler note_by(boost::asio::io_context& caller) const {
    return [&caller, weak = std::weak_ptr(on_note_)](std::string note) {
      boost::asio::post(caller, [weak, note = std::move(note)] {
        if (const auto handler = weak.lock()) (*handler)(note);
      });
    };
  }

  std::shared_ptr<NoteHandler> on_note_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      context_.get_executor()};
  StoreService service_;  // after the context, whose handlers know it
  std::thread thread_;
};

Result<std::unique_ptr<StoreServer>> StoreServer::listen(boost::asio::io_context& context,
                                                         const std::string& address,
                                                         std::uint16_t port,
                                                         NoteHandler on_note) {
  try {
    auto impl = std::make_unique<Impl>(context, address, port, std::move(on_note));
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
void StoreServer::open_for(Admission admission) {
  impl_->open_for(std::move(admission));
}
StoreServer::~StoreServer() = default;
std::uint16_t StoreServer::port() const {
  return impl_->port();
}

}  // namespace ddprun
