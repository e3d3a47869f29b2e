// One stream of one child process: its pipe → the terminal, its log file and the tail kept for the
// report. On a terminal a line that is begun and waits for its end, such as a prompt, is shown,
// too.
#pragma once

#include "launcher/processes/bars.hpp"
#include "launcher/processes/line_filter.hpp"
#include "launcher/processes/lines.hpp"
#include "launcher/processes/writer.hpp"
#include "rendezvous/fd.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ddprun {

class ChildOutput : public std::enable_shared_from_this<ChildOutput> {
 public:
  struct Destination {
    std::shared_ptr<Sink> console;                      ///< Null: not shown.
    std::shared_ptr<Sink> log;                          ///< Null: not kept.
    std::string prefix;                                 ///< Of each line on the console,
    std::vector<std::string> prefixed_beginnings = {};  ///< or of those that begin so.
    std::string filtered_prefix = {};                   ///< Of each line that filters leave.
    bool thins_bars = false;  ///< The console is a log, in which a bar is to leave few lines,
    Millis bar_pause = BarThinner::usual_pause;  ///< one in this time.
    std::shared_ptr<Sink> filtered = {};         ///< For lines with one of
    std::vector<std::string> filters = {};       ///< these texts; null: there are none.
  };

  ChildOutput(boost::asio::io_context& context, Writers writers, Fd pipe, Destination destination);

  /// Reads from now on, whenever the writer has room.
  void start();

  /// Takes what the pipe still holds, without waiting, and ends: right when no process is left that
  /// could write to it. Afterwards nothing of this stream is missing on any of its ways.
  void finish();

  /// A worker's own terminal becomes as wide as what the prefix leaves of this process's.
  void fit_to_terminal();

  [[nodiscard]] bool is_shown() const { return destination_.console != nullptr; }
  [[nodiscard]] std::deque<std::string> last_lines() const { return tail_.lines(); }

 private:
  enum class Left { more, nothing_now, ended };

  void wait();
  void wait_for_room();
  [[nodiscard]] Left read_once();
  void add(std::string_view bytes);
  void show_begun_soon();
  void watch_bar();

  Writer& console_;
  Writer& files_;
  boost::asio::posix::stream_descriptor pipe_;
  Destination destination_;
  BarThinner bars_;
  boost::asio::steady_timer bar_timer_;
  std::optional<Instant> bar_due_;  // for which the timer is armed
  LinePrefixer lines_;
  LineFilter filter_;
  Tail tail_;
  boost::asio::steady_timer begun_timer_;
  bool shows_soon_ = false;  // what the timer waits for
};

}  // namespace ddprun
