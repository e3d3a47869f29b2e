#include "rendezvous/store/store_server.hpp"

#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/store/store_service.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <signal.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace ddprun {
namespace {

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

std::string advice_on(const boost::system::error_code& error) {
  switch (error.value()) {
    case EADDRNOTAVAIL:
      return "this machine has no such address; ip -brief address lists those that it has";
    case EADDRINUSE:
      return "name another port, or none: any that is free does";
    case EACCES:
      return "name another port, such as 29500, or none: those below 1024 are for root";
    case EMFILE:
    case ENFILE:
      return "raise ulimit -n";
    default:
      return "name another address";
  }
}

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

  void open_for(Admission admission, StoreDialect ungreeted, OwnerQuestions questions) {
    OwnerQuestions by_caller;
    by_caller.ask = [this, questions](SessionId held, const IpConnection& connection) {
      tell_caller(
          [questions, held, connection](const NoteHandler&) { questions.ask(held, connection); });
    };
    by_caller.forget = [this, questions](SessionId held) {
      tell_caller([questions, held](const NoteHandler&) { questions.forget(held); });
    };
    boost::asio::post(context_,
                      [this,
                       ungreeted,
                       admission = std::move(admission),
                       questions = std::move(by_caller)]() mutable {
                        service_.open_for(std::move(admission), ungreeted, std::move(questions));
                      });
  }

  void judge(SessionId held, std::string objection) {
    boost::asio::post(context_, [this, held, objection = std::move(objection)] {
      service_.judge(held, objection);
    });
  }

  void on_given_up(std::function<void()> handler) { on_given_up_ = std::move(handler); }

  void ask_statistics(std::function<void(std::string)> on_answer) {
    boost::asio::post(context_, [this, on_answer = std::move(on_answer)] {
      tell_caller(
          [on_answer, text = service_.statistics()](const NoteHandler&) { on_answer(text); });
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
      if (on_given_up_) tell_caller([done = on_given_up_](const NoteHandler&) { done(); });
    }
  }

  /// What arrives there after the server's end is dropped; it may come at that end, on another
  /// thread.
  void tell_caller(std::function<void(const NoteHandler&)> handler) const {
    boost::asio::post(caller_, [weak = std::weak_ptr(on_note_), handler = std::move(handler)] {
      if (const auto on_note = weak.lock()) handler(*on_note);
    });
  }

  [[nodiscard]] NoteHandler note_by_caller() const {
    return [this](std::string note) {
      tell_caller([note = std::move(note)](const NoteHandler& on_note) { on_note(note); });
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
                 advice_on(error.code()));
  } catch (const std::system_error& error) {
    return Error(ExitStatus::system_refused,
                 "cannot start a thread for the store",
                 error.code().message(),
                 "check ulimit -u, and the job's limit of processes");
  }
}

StoreServer::StoreServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
void StoreServer::open_for(Admission admission, StoreDialect ungreeted, OwnerQuestions questions) {
  impl_->open_for(std::move(admission), ungreeted, std::move(questions));
}
void StoreServer::judge(SessionId held, std::string objection) {
  impl_->judge(held, std::move(objection));
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
