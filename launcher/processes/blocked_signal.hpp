// Calls a handler when a signal has arrived, such as that children of this process have ended; how
// many of them cannot be told, since signals merge.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>

namespace ddprun {

class BlockedSignal {
 public:
  /// The signal is blocked in this process. Throws std::system_error.
  BlockedSignal(boost::asio::io_context& context, int number, std::function<void()> on_arrived);

  /// From now on, on the context's thread.
  void listen();

 private:
  boost::asio::posix::stream_descriptor signals_;
  std::function<void()> on_arrived_;
};

}  // namespace ddprun
