// The agent's side of one worker's DDPRUN_CONTROL_FD: a socket pair, of which the worker has the
// other end. Neither side waits for the other.
//
// Bounds
//   One read of `read_bytes_max` each time that the loop comes to it, and what ControlReader allows
//   a second; then it is closed. Of requests that the worker does not read it holds
//   `unsent_bytes_max` beyond what the kernel does, and refuses further ones.
#pragma once

#include "launcher/workers/control_line.hpp"
#include "rendezvous/fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace ddprun {

/// The variable that has the number of the worker's end.
constexpr const char* control_variable = "DDPRUN_CONTROL_FD";

/// Both close at exec.
struct ControlEnds {
  Fd agent;   ///< Does not block.
  Fd worker;  ///< Blocks, as programs expect.
};
/// Throws a std::system_error if the system has no descriptor left.
[[nodiscard]] ControlEnds open_control();

class ControlChannel : public std::enable_shared_from_this<ControlChannel> {
 public:
  static constexpr std::size_t read_bytes_max = 64 * 1024;
  static constexpr std::size_t unsent_bytes_max = control_line_bytes_max;

  struct Handlers {
    std::function<void(const ControlMessage&)> hear;
    std::function<void(const std::string&)> say;  ///< A line for people.
    std::function<void()> close;  ///< The worker lives, and can be asked nothing more.
  };

  ControlChannel(boost::asio::io_context& context, Fd agent_end, Rank rank, Handlers handlers);

  /// Listens from now on.
  void start();

  /// Sends it, or keeps it until the worker reads. False if this worker has not said hello, reads
  /// nothing, or has closed its end.
  [[nodiscard]] bool ask(const ControlRequest& request);

  /// The worker has ended: hears what it has sent before, and closes. Processes that it has left
  /// may still have its end.
  void finish();

 private:
  enum class Left { more, nothing_now, ended };

  void wait();
  [[nodiscard]] Left read_once();
  void tell(const ControlReader::Heard& heard) const;
  bool send_unsent();
  void close();

  boost::asio::posix::stream_descriptor socket_;
  Handlers handlers_;
  ControlReader reader_;
  std::string unsent_;
  bool waits_to_send_ = false;
};

}  // namespace ddprun
