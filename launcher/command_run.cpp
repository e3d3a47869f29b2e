#include "launcher/command_run.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/resource.h>

#include <deque>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

unsigned long files_max() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 1024;
}

std::string joined(const std::deque<std::string>& lines) {
  constexpr const char* blanks = " \t\r\n";
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : " ") + line;
  text.erase(text.find_last_not_of(blanks) + 1);
  text.erase(0, text.find_first_not_of(blanks));
  return text;
}

}  // namespace

std::string text_of(const WorkerEnd& end) {
  if (end.kind == WorkerEnd::Kind::killed) return signal_name(end.code);
  return fmt::format("exit status {}", exit_status_of(end));
}

CommandStarter::CommandStarter(const sigset_t& user_signals)
    : null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  context_.user_signals = user_signals;
  context_.user_files_max = files_max();
  context_.null_fd = null_.get();
}

WorkerProcess CommandStarter::start(const Command& command,
                                    const Environment& environment,
                                    LocalRank local_rank) const {
  const ExecFailures failures;  // what they say is in the child's status, too
  SpawnContext context = context_;
  context.exec_failures_fd = failures.write_end();
  WorkerPlace place;
  place.local_rank = local_rank;
  return spawn_worker(context, command, environment, place);
}

void CommandRun::start(const Command& command, const Environment& environment, OnEnd on_end) {
  on_end_ = std::move(on_end);
  try {
    WorkerProcess process = starter_.start(command, environment);
    pid_ = process.pid;
    out_ = open_output(std::move(process.out));
    err_ = open_output(std::move(process.err));
  } catch (const std::system_error& error) {
    pid_ = 0;
    boost::asio::post(context_, [on_end = on_end_, why = std::string(error.what())] {
      on_end({false, why});
    });
  }
}

void CommandRun::on_child(const EndedChild& child) {
  if (pid_ == 0 || child.pid != pid_) return;
  pid_ = 0;
  out_->finish();
  err_->finish();
  End end{child.end.success(), joined(out_->last_lines())};
  if (!end.success) end.text = joined(err_->last_lines());
  if (!end.success && end.text.empty()) end.text = text_of(child.end);
  boost::asio::post(context_, [on_end = std::move(on_end_), end = std::move(end)] { on_end(end); });
}

std::shared_ptr<WorkerOutput> CommandRun::open_output(Fd pipe) {
  auto output = std::make_shared<WorkerOutput>(
      context_, writer_, std::move(pipe), WorkerOutput::Destination{});
  output->start();
  return output;
}

}  // namespace ddprun
