// Input that ddprun is given in a batch script, and that reaches no worker.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>

namespace ddprun {

class UnreadInput {
 public:
  /// Calls `on_input` once, on the context's thread, when the pipe or file `fd` has something to
  /// read. Reads nothing, and leaves `fd` as it is, since it may be shared with others.
  UnreadInput(boost::asio::io_context& context, int fd, std::function<void()> on_input);

 private:
  void watch(int fd);

  boost::asio::posix::stream_descriptor watched_;  // an epoll instance with `fd` in it
  std::function<void()> on_input_;
};

}  // namespace ddprun
