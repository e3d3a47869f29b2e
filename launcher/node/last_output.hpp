// The end of the agent process: it waits until pending output is written, files first, and no
// longer than somebody reads it. A terminal that takes nothing, as after ctrl-S, is waited for some
// time only; a pipe's reader, such as less, for as long as it is there.
#pragma once

#include "launcher/processes/writer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <optional>

namespace ddprun {

class LastOutput {
 public:
  LastOutput(boost::asio::io_context& context, Writers writers)
      : context_(context), writers_(writers), timer_(context), stuck_(context) {}

  /// The process ends with this status; given again, with the newer one.
  void exits_with(int status) { status_ = status; }
  [[nodiscard]] std::optional<int> status() const { return status_; }

  /// Stops the context once all has been written, and then what `report` has to say: so that the
  /// last line is the one about the status.
  void write_out(std::function<void()> report);

  /// Does not join the writers, which may hang in a terminal or file that takes nothing more.
  [[noreturn]] void exit_now() const;

  /// After a moment: writing out takes no time unless whoever reads has stopped reading, and then
  /// nobody waits for it.
  void exit_soon();

 private:
  void watch_terminal();

  boost::asio::io_context& context_;
  Writers writers_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer stuck_;
  std::optional<int> status_;
  bool exits_soon_ = false;
};

}  // namespace ddprun
