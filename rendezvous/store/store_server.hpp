// The rendezvous store behind MASTER_ADDR:MASTER_PORT: moves bytes between clients and a KeyValue.
//
// One generation has one store, listening before its workers start and closed after the last of
// them is gone: PyTorch up to 2.0 spins on a whole core per worker when its store closes early, and
// from 2.6 on accepts keys of an older generation as its own. Connections that come before the
// admitted addresses are known wait in the kernel's queue.
//
// It has a thread of its own, so that what clients ask for does not delay this node's lease.
//
// Bounds
//   Half of the process's descriptors, and `sessions_max`, for connections; StoreLimits for
//   requests; one budget for all memory. Beyond `unread_reply_bytes_max` nothing more is read from
//   a client or executed for it. Where memory is short, whoever has most of it is closed; where
//   connections are, session_ledger.hpp says who.
#pragma once

#include "rendezvous/result.hpp"
#include "rendezvous/store/admission.hpp"
#include "rendezvous/store/store_codec.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace ddprun {

constexpr std::size_t sessions_max = 65'536;
constexpr std::size_t unread_reply_bytes_max = 1024 * 1024;

class StoreServer {
 public:
  /// Takes one line for people: a client that was refused, and why.
  using NoteHandler = std::function<void(std::string)>;

  /// Listens on `address` at a free port, or at `port`, from this call on, with a budget of
  /// `memory_max` bytes. The handlers run on the thread of `context`, which must outlive the
  /// server, and none after the server's end.
  [[nodiscard]] static Result<std::unique_ptr<StoreServer>> listen(boost::asio::io_context& context,
                                                                   const std::string& address,
                                                                   std::uint16_t port,
                                                                   std::size_t memory_max,
                                                                   NoteHandler on_note);

  /// Asks whose a connection from another node is. They run as the handlers do.
  struct OwnerQuestions {
    /// The answer is a call of `judge`.
    std::function<void(SessionId held, const IpConnection&)> ask;
    /// No answer is needed any more.
    std::function<void(SessionId held)> forget;
  };

  /// From now on connections are taken from whoever is admitted; others are closed unread. One
  /// without a greeting is of `ungreeted`, legacy or torch_2_1. It is of the latter, too, if
  /// another one that is open has shown that its address runs PyTorch 2.1. Connections of other
  /// nodes are held until it is known whose they are. Call once.
  void open_for(Admission admission, StoreDialect ungreeted, OwnerQuestions questions = {});

  /// The connection that was asked about is closed for this reason; empty: it is taken.
  void judge(SessionId held, std::string objection);

  /// `handler` is called if the store has closed because it ran out of memory. Call before
  /// open_for.
  void on_given_up(std::function<void()> handler);

  /// Answers with a line of numbers for people, unless the store has given up.
  void ask_statistics(std::function<void(std::string)> on_answer) const;

  /// Waits for the thread, which ends what it has begun, such as the requests of one read; closes
  /// every connection, and frees what the store holds, which may take seconds.
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;

 private:
  class Impl;
  explicit StoreServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ddprun
