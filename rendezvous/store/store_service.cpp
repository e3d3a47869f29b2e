#include "rendezvous/store/store_service.hpp"

#include "rendezvous/endpoint_text.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

namespace ddprun {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t slice_bytes_max = 1024 * 1024;  // written to one client at once
constexpr std::size_t slice_parts_max = 16;
constexpr std::size_t worth_closing = 65'536;               // bytes that a connection holds
constexpr std::size_t outbox_kept_max = worth_closing / 2;  // until the end of a turn
constexpr std::size_t reserve_divisor = 64;                 // of the memory: 16 MiB of 1 GiB
constexpr std::size_t reader_bytes_max = 16'384;  // a connection, and a request with a long key
constexpr std::size_t spare_requests_max = 1024;
constexpr std::size_t replies_turn_max = 4096;  // some milliseconds, most of which are writes
constexpr std::size_t writes_turn_max = 128;    // so many clients are written to at once
constexpr int request_looks_max = 60;
constexpr std::chrono::seconds looks_apart(1);

StoreHash seeded_hash() {
  StoreHash hash;
  randombytes_buf(hash.seed.data(), hash.seed.size());
  return hash;
}

}  // namespace

StoreService::StoreService(boost::asio::io_context& context,
                           const std::string& address,
                           std::uint16_t port,
                           std::size_t memory_max,
                           NoteHandler on_note)
    : context_(context),
      notes_(std::make_shared<StrangerNotes>(context, on_note)),
      on_note_(std::move(on_note)),
      budget_(memory_max, memory_max / reserve_divisor),
      sockets_(context, [this](const StoreSockets::Ready& ready) { on_ready(ready); }),
      ledger_(request_looks_max),
      look_(context) {
  key_value_.emplace(budget_, KeyValueLimits{}, seeded_hash());
  Acceptor::Handlers handlers;
  handlers.on_connection = [this](tcp::socket socket, const tcp::endpoint& peer) {
    meet(std::move(socket), peer);
  };
  handlers.make_room = [this](const std::string&) { return close_one_for_another(); };
  handlers.on_pause = [this](const std::string& why) {
    notes_->add("store: cannot accept another connection: " + why);
  };
  acceptor_ = std::make_shared<Acceptor>(context, address, port, std::move(handlers));
}

void StoreService::open_for(Admission admission,
                            StoreDialect ungreeted,
                            StoreServer::OwnerQuestions questions) {
  admission_ = std::move(admission);
  questions_ = std::move(questions);
  ungreeted_ = ungreeted;
  acceptor_->start();
}

void StoreService::give_up(const std::string& why) {
  acceptor_->close();
  held_.clear();
  sessions_.clear();
  key_value_.emplace(budget_, KeyValueLimits{}, seeded_hash());
  on_note_("store: closed, with all connections, so that the workers fail: " + why);
}

bool StoreService::make_room(const std::function<bool()>& has_room) {
  while (!has_room()) {
    if (!close_the_largest()) return false;
  }
  return true;
}

bool StoreService::close_the_largest() {
  const auto largest = std::ranges::max_element(
      sessions_, {}, [](const auto& entry) { return memory_of(entry.second); });
  if (largest == sessions_.end() || memory_of(largest->second) <= worth_closing) return false;
  const Session& session = largest->second;
  refuse({largest->first},
         shortage(fmt::format("it had {} bytes of replies unread, and {} of requests",
                              session.outbox.size(),
                              session.decoder.held() + session.requests_bytes)));
  return true;
}

std::size_t StoreService::memory_of(const Session& session) {
  return session.charge.bytes() + session.outbox.held_of_old();
}

std::string StoreService::shortage(const std::string& what) const {
  return fmt::format(
      "{}: the store's memory is short: {} of {} bytes are taken; raise --store-memory, or "
      "--max-memory of ddprun store",
      what,
      budget_.used(),
      budget_.max());
}

void StoreService::on_ready(const StoreSockets::Ready& ready) {
  const auto found = sessions_.find(ready.session.value);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  session.has_more = session.has_more || ready.to_read;
  session.takes_more = session.takes_more || ready.to_write;
  session.has_ended = session.has_ended || ready.has_ended;
  if (!session.goes_on_later) go_on(ready.session);
}

void StoreService::go_on(SessionId id) {
  const auto is_able = [&](bool Session::*waits, bool Session::*can) {
    const auto found = sessions_.find(id.value);
    return found != sessions_.end() && found->second.*waits && found->second.*can;
  };
  if (is_able(&Session::writing, &Session::takes_more)) on_writable(id);
  if (is_able(&Session::reading, &Session::has_more)) on_readable(id);
}

void StoreService::go_on_later(SessionId id) {
  if (std::exchange(sessions_.at(id.value).goes_on_later, true)) return;
  later_.push_back(id);
  if (later_.size() == 1) boost::asio::post(context_, [this] { take_turn(); });
}

/// Who is in it goes on once, and who comes meanwhile in the next turn.
void StoreService::take_turn() {
  const std::size_t count = std::min(later_.size(), std::size_t{StoreSockets::events_max});
  for (std::size_t i = 0; i < count; ++i) {
    const SessionId id = later_[i];
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end()) continue;
    found->second.goes_on_later = false;
    go_on(id);
  }
  later_.erase(later_.begin(), later_.begin() + static_cast<std::ptrdiff_t>(count));
  if (!later_.empty()) boost::asio::post(context_, [this] { take_turn(); });
}

void StoreService::wait_for_bytes(SessionId id) {
  Session& session = sessions_.at(id.value);
  session.reading = true;
  if (session.decoder.has_begun()) {
    ledger_.on_rest_awaited(id);
    look_later();
  }
  if (session.has_more) go_on_later(id);
}

/// Less than the buffer takes is all that there was (epoll(7)). But the end of the connection may
/// have come with it, and is told only once.
void StoreService::on_readable(SessionId id) {
  const auto found = sessions_.find(id.value);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  session.reading = false;
  bool has_ended = false;
  const std::size_t count = session.socket.read(buffer_, has_ended);
  if (has_ended) return close_session(id);
  session.has_more = count == buffer_.size() || session.has_ended;
  decode(id, session, {buffer_.data(), count});
  for (const StoreRequest& each : session.requests) session.requests_bytes += bytes_of(each);
  if (count > 0) {
    ledger_.on_bytes(id, !session.requests.empty(), session.decoder.has_begun());
  }
  settle(session);
  const bool may_read_only = session.charge.bytes() <= reader_bytes_max;
  const bool is_in_budget =
      make_room([&] { return may_read_only ? budget_.has_room(0) : budget_.has_room_to_keep(0); });
  if (!is_in_budget) return refuse(id, shortage("its request was refused"));
  serve(id);
}

void StoreService::decode(SessionId id, Session& session, std::string_view bytes) {
  if (ungreeted_ == StoreDialect::torch_2_1 || ledger_.is_of_2_1(session.peer.address)) {
    session.decoder.assume_2_1();
  }
  if (session.requests.empty()) session.requests.swap(spare_);
  const StoreDialect before = session.decoder.dialect();
  session.decoded = session.decoder.feed(bytes, session.requests);
  const StoreDialect now = session.decoder.dialect();
  statistics_.on_dialect(before, now);
  if (now == StoreDialect::torch_2_1) ledger_.on_2_1(id);
}

void StoreService::look_later() {
  if (looks_ || !ledger_.awaits_rest()) return;
  looks_ = true;
  look_.expires_after(looks_apart);
  look_.async_wait([this](error_code error) {
    if (error) return;
    looks_ = false;
    ledger_.on_look();
    while (const auto late = ledger_.overdue()) {
      refuse(*late, fmt::format("its request is not whole after {} s", request_looks_max));
    }
    look_later();
  });
}

void StoreService::settle(Session& session) {
  const std::size_t unfinished = session.decoder.held() + session.requests_bytes;
  session.charge.resize(session_bytes + unfinished + session.outbox.held());
}

void StoreService::serve(SessionId id) {
  const auto done = execute(id);
  flush_touched();
  if (!done) return refuse(id, done.error().message());
  read_on(id);
}

Result<void> StoreService::execute(SessionId id) {
  std::size_t replies = 0;
  while (Session* session = with_request(id)) {
    if (has_enough_to_read(*session)) return {};  // on_writable goes on
    if (replies >= replies_turn_max) {
      serve_later(id, *session);
      return {};
    }
    if (!make_room_for_request(id)) return {};
    session = with_request(id);
    StoreRequest request = std::move(session->requests[session->executed++]);
    statistics_.on_request(request.operation);
    auto done =
        key_value_->on_request(id, session->decoder.dialect(), std::move(request), replies_);
    replies += replies_.size();
    deliver();
    if (!done) return done;
  }
  const auto found = sessions_.find(id.value);
  return found == sessions_.end() ? Result<void>() : found->second.decoded;
}

void StoreService::serve_later(SessionId id, Session& session) {
  session.awaits_turn = true;
  boost::asio::post(context_, [this, id] {
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end()) return;
    found->second.awaits_turn = false;
    serve(id);
  });
}

void StoreService::read_on(SessionId id) {
  const auto found = sessions_.find(id.value);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  if (session.executed < session.requests.size()) return;
  session.requests.clear();
  if (session.requests.capacity() <= spare_requests_max) spare_.swap(session.requests);
  session.requests = {};
  session.executed = session.requests_bytes = 0;
  settle(session);
  if (!session.reading && !has_enough_to_read(session)) wait_for_bytes(id);
}

/// It costs less once replies are written, and those are closed that share the value which it
/// changes.
bool StoreService::make_room_for_request(SessionId id) {
  while (const Session* session = with_request(id)) {
    if (key_value_->has_room_for(session->requests[session->executed])) return true;
    if (!touched_.empty()) {
      flush_touched();
    } else if (!close_the_largest()) {
      return true;
    }
  }
  return false;  // it was the largest
}

StoreService::Session* StoreService::with_request(SessionId id) {
  const auto found = sessions_.find(id.value);
  if (found == sessions_.end()) return nullptr;
  Session& session = found->second;
  return session.executed < session.requests.size() ? &session : nullptr;
}

bool StoreService::has_enough_to_read(const Session& session) {
  return session.outbox.size() > unread_reply_bytes_max;
}

void StoreService::work_on() {
  if (!key_value_->has_work() || works_) return;
  works_ = true;
  boost::asio::post(context_, [this] {
    works_ = false;
    key_value_->work(replies_);
    deliver();
    flush_touched();
  });
}

void StoreService::refuse(SessionId id, const std::string& why) {
  const auto found = sessions_.find(id.value);
  if (found == sessions_.end()) return;
  statistics_.on_refused();
  const IpEndpoint& peer = found->second.peer;
  notes_->add(fmt::format("store: {}: {}", endpoint_text(text_of(peer.address), peer.port), why));
  close_session(id);
}

void StoreService::deliver() {
  for (StoreReply& reply : replies_) {
    const auto found = sessions_.find(reply.session.value);
    if (found == sessions_.end()) continue;
    Session& session = found->second;
    session.outbox.append(std::move(reply.bytes));
    settle(session);
    if (!std::exchange(session.is_touched, true)) touched_.push_back(reply.session);
    if (session.outbox.size() > outbox_kept_max) flush(reply.session);
  }
  replies_.clear();
  work_on();
}

/// Who was touched last comes first: that is who has asked just now, not those whom a barrier or a
/// notice has reached all at once.
void StoreService::flush_touched() {
  for (std::size_t count = 0; count < writes_turn_max && !touched_.empty(); ++count) {
    const SessionId id = touched_.back();
    touched_.pop_back();
    const auto found = sessions_.find(id.value);
    if (found == sessions_.end()) continue;
    found->second.is_touched = false;
    flush(id);
  }
  if (!touched_.empty()) flush_later();
}

void StoreService::flush_later() {
  if (std::exchange(flushes_later_, true)) return;
  boost::asio::post(context_, [this] {
    flushes_later_ = false;
    flush_touched();
  });
}

void StoreService::flush(SessionId id) {
  const auto found = sessions_.find(id.value);
  if (found == sessions_.end() || found->second.writing || found->second.outbox.empty()) return;
  Session& session = found->second;
  std::array<std::string_view, slice_parts_max> views;
  std::array<iovec, slice_parts_max> pieces;
  const std::size_t count = session.outbox.front(views, slice_bytes_max);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    pieces[i] = {const_cast<char*>(views[i].data()), views[i].size()};
    bytes += views[i].size();
  }
  bool has_ended = false;
  const std::size_t written = session.socket.write(std::span(pieces).first(count), has_ended);
  if (has_ended) return close_session(id);
  session.outbox.drop_front(written);
  settle(session);
  if (session.outbox.empty()) return;
  session.writing = true;
  session.takes_more = written == bytes;
  if (session.takes_more) go_on_later(id);
}

void StoreService::on_writable(SessionId id) {
  const auto found = sessions_.find(id.value);
  if (found == sessions_.end()) return;
  found->second.writing = false;
  const bool awaits_turn = found->second.awaits_turn;
  flush(id);
  if (!awaits_turn) serve(id);
}

void StoreService::close_session(SessionId id) {
  key_value_->on_session_lost(id);
  if (sessions_.erase(id.value) > 0) statistics_.on_disconnected();
  ledger_.on_closed(id);
  work_on();
}

}  // namespace ddprun
