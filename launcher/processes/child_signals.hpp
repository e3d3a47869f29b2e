// Calls a handler when children of this process have ended; only waitid tells which, since signals
// merge.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>

namespace ddprun {

class ChildSignals {
 public:
  /// SIGCHLD is blocked in this process. Throws std::system_error.
  ChildSignals(boost::asio::io_context& context, std::function<void()> on_ended);

  /// From now on, on the context's thread.
  void listen();

 private:
  boost::asio::posix::stream_descriptor signals_;
  std::function<void()> on_ended_;
};

}  // namespace ddprun
