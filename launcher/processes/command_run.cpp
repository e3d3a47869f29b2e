#include "launcher/processes/command_run.hpp"

#include "launcher/text/values.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>

#include <chrono>
#include <deque>
#include <exception>
#include <utility>

namespace ddprun {
namespace {

std::string joined(const std::deque<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : " ") + line;
  return std::string(trimmed(text, " \t\r\n"));
}

}  // namespace

std::string text_of(const WorkerEnd& end) {
  if (end.kind == WorkerEnd::Kind::killed) return signal_name(end.code);
  return fmt::format("exit status {}", exit_status_of(end));
}

CommandStarter::CommandStarter(const sigset_t& user_signals)
    : null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  context_.user_signals = user_signals;
  context_.user_files_max = raise_files_max();
  context_.stdin_fd = null_.get();
}

ChildProcess CommandStarter::start(const Command& command, const Environment& environment) const {
  return spawn_process(context_, {command, environment});
}

void CommandRun::start(const Command& command,
                       const Environment& environment,
                       Millis patience,
                       OnEnd on_end) {
  ++starts_count_;
  kill();
  on_end_ = std::move(on_end);
  try {
    ChildProcess process = starter_.start(command, environment);
    pid_ = process.pid;
    out_ = open_output(std::move(process.out));
    err_ = open_output(std::move(process.err));
    wait(patience);
  } catch (const std::exception& error) {
    kill();
    report({false, error.what()});
  }
}

/// A timer that is due may fire after the next command has started.
void CommandRun::wait(Millis patience) {
  timer_.expires_after(std::chrono::milliseconds(patience.count));
  timer_.async_wait([this, number = starts_count_](boost::system::error_code error) {
    if (error || !on_end_ || number != starts_count_) return;
    kill();
    report({false, "no answer"});
  });
}

/// With the processes in its group. No other process can have its pid yet: on_child is called
/// as soon as a child is reaped.
void CommandRun::kill() {
  if (pid_ != 0) static_cast<void>(::kill(-pid_, SIGKILL));
  pid_ = 0;
}

void CommandRun::report(End end) {
  pid_ = 0;
  timer_.cancel();
  boost::asio::post(
      context_, [on_end = std::exchange(on_end_, nullptr), end = std::move(end)] { on_end(end); });
}

void CommandRun::on_child(const EndedChild& child) {
  if (pid_ == 0 || child.pid != pid_) return;
  out_->finish();
  err_->finish();
  End end{child.end.success(), joined(out_->last_lines())};
  if (!end.success) end.text = joined(err_->last_lines());
  if (!end.success && end.text.empty()) end.text = text_of(child.end);
  report(std::move(end));
}

std::shared_ptr<ChildOutput> CommandRun::open_output(Fd pipe) {
  auto output = std::make_shared<ChildOutput>(
      context_, Writers{writer_, writer_}, std::move(pipe), ChildOutput::Destination{});
  output->start();
  return output;
}

}  // namespace ddprun
