// One run of a command that is no worker: its output once it has ended, or an error if it does not
// end in time.
#pragma once

#include "launcher/processes/child_output.hpp"
#include "launcher/processes/process.hpp"
#include "launcher/processes/reaper.hpp"
#include "launcher/processes/writer.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/worker_end.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>
#include <functional>
#include <memory>
#include <string>

namespace ddprun {

/// Starts commands, each in a process group of its own and with nothing as its input.
class CommandStarter {
 public:
  explicit CommandStarter(const sigset_t& user_signals);

  /// See spawn_process.
  [[nodiscard]] ChildProcess start(const Command& command, const Environment& environment) const;

 private:
  Fd null_;
  SpawnContext context_;
};

/// "SIGKILL (9)" or "exit status 1".
[[nodiscard]] std::string text_of(const WorkerEnd& end);

class CommandRun {
 public:
  struct End {
    bool success = false;
    std::string text;  ///< The last lines that it printed, blanks and line ends around them gone;
                       ///< without success what it printed as errors, or how it ended.
  };
  using OnEnd = std::function<void(const End&)>;

  CommandRun(boost::asio::io_context& context, Writer& writer, const sigset_t& user_signals)
      : context_(context), writer_(writer), starter_(user_signals), timer_(context) {}

  /// One at a time: one that still runs is killed, and not heard of. `on_end` is called once,
  /// later, on the thread of the context; also where the command cannot be started. One that does
  /// not end within `patience` has failed, and is killed.
  void start(const Command& command, const Environment& environment, Millis patience, OnEnd on_end);

  /// A child of this process has ended; it need not be the command.
  void on_child(const EndedChild& child);

 private:
  [[nodiscard]] std::shared_ptr<ChildOutput> open_output(Fd pipe);
  void wait(Millis patience);
  void kill();
  void report(End end);

  boost::asio::io_context& context_;
  Writer& writer_;
  CommandStarter starter_;
  boost::asio::steady_timer timer_;
  int starts_count_ = 0;
  int pid_ = 0;  // 0: none runs
  std::shared_ptr<ChildOutput> out_;
  std::shared_ptr<ChildOutput> err_;
  OnEnd on_end_;  // null once it is called
};

}  // namespace ddprun
