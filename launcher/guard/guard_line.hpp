// The agent's end of the socketpair to the guard: it carries signals, and closes if the guard dies.
#pragma once

#include "rendezvous/fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>

namespace ddprun {

class GuardLine {
 public:
  struct Handlers {
    std::function<void(int signal, bool from_terminal)> on_signal;
    std::function<void()> on_lost;
  };

  GuardLine(boost::asio::io_context& context, Fd socket, Handlers handlers);

  /// From now on the handlers are called, on the context's thread.
  void listen();

  /// Stays this line's.
  [[nodiscard]] int socket() { return line_.native_handle(); }

 private:
  void read();

  boost::asio::posix::stream_descriptor line_;
  Handlers handlers_;
};

}  // namespace ddprun
