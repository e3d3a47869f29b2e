// The end of the agent process: it waits until pending output is written, files first, and no
// longer than somebody reads it. A terminal that takes nothing, as after ctrl-S, is waited for some
// time only; a pipe's reader, such as less, for as long as it is there. Events come last, and are
// waited for `events_patience` at most.
#pragma once

#include "launcher/processes/writer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

namespace ddprun {

class LastOutput {
 public:
  static constexpr std::chrono::seconds events_patience{5};

  /// `events` may be null. `on_late` is called if some of them are not written in time.
  LastOutput(boost::asio::io_context& context,
             Writers writers,
             Writer* events,
             std::function<void()> on_late)
      : context_(context),
        writers_(writers),
        events_(events),
        on_late_(std::move(on_late)),
        timer_(context),
        stuck_(context) {}

  /// The process ends with this status; given again, with the newer one.
  void exits_with(int status) { status_ = status; }
  [[nodiscard]] std::optional<int> status() const { return status_; }

  /// Stops the context, or exits, once all has been written, and then what `report` has to say: so
  /// that the last line is the one about the status.
  void write_out(std::function<void()> report);

  /// As soon as files and events are written, or after a moment; the console is left alone.
  void exit_with_files();

  /// Does not join the writers, which may hang in a terminal or file that takes nothing more.
  [[noreturn]] void exit_now() const;

  /// After a moment: writing out takes no time unless whoever reads has stopped reading, and then
  /// nobody waits for it.
  void exit_soon();

 private:
  void watch_terminal();
  void wait_for_events();

  boost::asio::io_context& context_;
  Writers writers_;
  Writer* events_;
  std::function<void()> on_late_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer stuck_;  // of the terminal, then of the events
  std::optional<int> status_;
  bool exits_soon_ = false;
};

}  // namespace ddprun
