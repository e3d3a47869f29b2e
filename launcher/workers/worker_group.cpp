#include "launcher/workers/worker_group.hpp"

#include "launcher/system/terminal.hpp"
#include "launcher/text/substitute.hpp"
#include "launcher/text/terminal_manner.hpp"
#include "launcher/workers/program.hpp"
#include "launcher/workers/rank_map.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

constexpr std::chrono::milliseconds log_patience{100};  // well within the time for a heartbeat

/// A terminal is no input for a process in the background, and devices such as /dev/null are none.
bool is_input(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return false;
  return S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode);
}

bool are_one_place(int fd, int other_fd) {
  struct stat status {};
  struct stat other {};
  return ::fstat(fd, &status) == 0 && ::fstat(other_fd, &other) == 0 &&
         status.st_dev == other.st_dev && status.st_ino == other.st_ino;
}

}  // namespace

WorkerGroup::WorkerGroup(boost::asio::io_context& context,
                         Writers writers,
                         WorkerPlan plan,
                         const sigset_t& user_signals,
                         const std::vector<Fd>& fence_ends,
                         Handlers handlers)
    : context_(context),
      writers_(writers),
      plan_(std::move(plan)),
      fence_ends_(fence_ends),
      handlers_(std::move(handlers)),
      null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      stdout_(std::make_shared<Sink>(STDOUT_FILENO, "standard output")),
      stderr_(std::make_shared<Sink>(STDERR_FILENO, "standard error")),
      has_terminal_(::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1),
      modes_(STDIN_FILENO),
      has_input_(is_input(STDIN_FILENO)),
      is_one_console_(are_one_place(STDOUT_FILENO, STDERR_FILENO)) {
  if (!null_.is_open()) {
    throw Failure(Error(ExitStatus::system_refused,
                        "cannot open /dev/null",
                        std::strerror(errno),
                        "workers need it as their input"));
  }
  spawn_context_.user_signals = user_signals;
  for (const int signal : plan_.ignored_signals) sigaddset(&spawn_context_.ignored_signals, signal);
  spawn_context_.user_files_max = raise_files_max();
  if (!plan_.output.pty) return;
  resized_.emplace(context_, SIGWINCH, [this] {
    for (const auto& output : outputs_) output->fit_to_terminal();
  });
  resized_->listen();
}

std::vector<WorkerEnded> WorkerGroup::spawn(const Part& part, std::optional<Instant> lease_end) {
  spawn_context_.lease_end = lease_end;
  std::vector<WorkerEnded> refused;
  living_.clear();
  controls_.clear();
  outputs_.clear();
  errors_.clear();
  merged_.clear();
  dumped_.clear();
  filtered_.clear();
  exec_failures_.reset();
  lacks_input_ = false;
  at_terminal_ = plan_.terminal.in(part);
  make_log_folder(part);
  const auto unless_refused = [&](const WorkerPlace& place, const auto& step) {
    try {
      step();
    } catch (const std::system_error& error) {
      const WorkerEnd end{WorkerEnd::Kind::not_started, error.code().value()};
      refused.push_back({place.local_rank, 0, end});
    }
  };
  // Where a worker gets a copy of this process's memory, what is written to between two starts is
  // copied first, a page at a time.
  std::vector<Launch> launches;
  for (const WorkerPlace& place : places_in(part)) {
    unless_refused(place, [&] { launches.push_back(prepare(part, place)); });
  }
  for (Launch& launch : launches) {
    unless_refused(launch.place, [&] { start(part, launch); });
  }
  for (Launch& launch : launches) {
    if (launch.process.pid == 0) continue;
    unless_refused(launch.place, [&] { take_over(part, launch); });
  }
  return refused;
}

WorkerGroup::Launch WorkerGroup::prepare(const Part& part, const WorkerPlace& place) const {
  ControlEnds control = open_control();
  Environment environment = worker_environment(plan_.setup, part, place);
  environment[control_variable] = std::to_string(control.worker.get());
  return {.place = place,
          .control = std::move(control),
          .program = {command_for(plan_.command, plan_.setup, place), environment},
          .err_is_out = is_one_console_ && is_one_way(plan_.output, place.rank, place.local_rank),
          .process = {}};
}

void WorkerGroup::start(const Part& part, Launch& launch) {
  const WorkerPlace& place = launch.place;
  if (!exec_failures_) exec_failures_ = std::make_unique<ExecFailures>();
  spawn_context_.exec_failures_fd = exec_failures_->write_end();
  spawn_context_.group_end = fence_end(place.local_rank);
  spawn_context_.core_mask = core_mask(cores_of(place.local_rank));
  spawn_context_.stdin_fd = input_of(part, place);
  spawn_context_.share_terminal = has_terminal_ && at_terminal_ == place.local_rank;
  // A worker at the terminal may be stopped by ctrl-Z.
  spawn_context_.shares_memory = plan_.command.is_local && !spawn_context_.share_terminal;
  const std::size_t prefix_width = prefix_of(place, Stream::out).size();
  spawn_context_.pty_columns = plan_.output.pty ? columns_beside(prefix_width) : 0;
  spawn_context_.err_is_out = launch.err_is_out;
  spawn_context_.kept_fd = launch.control.worker.get();
  launch.process = spawn_process(spawn_context_, launch.program);
  launch.control.worker = Fd();
}

void WorkerGroup::take_over(const Part& part, Launch& launch) {
  const WorkerPlace& place = launch.place;
  ChildProcess& worker = launch.process;
  reaper_.watch(worker.pid);
  living_.emplace(worker.pid, place.local_rank);
  listen_to(place, std::move(launch.control.agent));
  if (!worker.out.is_open()) return;
  outputs_.push_back(open_output(std::move(worker.out), part, place, Stream::out));
  if (launch.err_is_out) merged_.insert(place.local_rank);
  if (worker.err.is_open()) {
    outputs_.push_back(open_output(std::move(worker.err), part, place, Stream::err));
  }
  errors_[place.local_rank] = outputs_.back();
}

void WorkerGroup::listen_to(const WorkerPlace& place, Fd agent_end) {
  ControlChannel::Handlers handlers{
      [this, local_rank = place.local_rank](const ControlMessage& message) {
        handlers_.on_control(local_rank, message);
      },
      handlers_.say,
      [this, local_rank = place.local_rank] { handlers_.on_control_closed(local_rank); }};
  const auto control = std::make_shared<ControlChannel>(
      context_, std::move(agent_end), place.rank, std::move(handlers));
  control->start();
  controls_[place.local_rank] = control;
}

bool WorkerGroup::ask(LocalRank local_rank, const ControlRequest& request) {
  const auto found = controls_.find(local_rank);
  return found != controls_.end() && found->second->ask(request);
}

/// The standard input for the worker that is to have it, in the job's first generation; else
/// /dev/null. Later it may be another node's.
int WorkerGroup::input_of(const Part& part, const WorkerPlace& place) {
  if (!has_input_ || plan_.stdin_rank != place.rank) return null_.get();
  lacks_input_ = part.number > GenerationNumber{1};
  return lacks_input_ ? null_.get() : STDIN_FILENO;
}

/// -1 without a fence.
int WorkerGroup::fence_end(LocalRank local_rank) const {
  const auto index = static_cast<std::size_t>(local_rank.value);
  return index < fence_ends_.size() ? fence_ends_[index].get() : -1;
}

/// Empty if they are not bound.
CoreSet WorkerGroup::cores_of(LocalRank local_rank) const {
  const auto index = static_cast<std::size_t>(local_rank.value);
  return index < plan_.setup.cores.size() ? plan_.setup.cores[index] : CoreSet();
}

/// Before the workers start: they may leave their error files there at once, and those of an older
/// run are not theirs.
void WorkerGroup::make_log_folder(const Part& part) {
  const std::string folder = log_folder(plan_.setup, part);
  if (folder.empty()) return;
  std::vector<std::string> error_files;
  for (const WorkerPlace& place : places_in(part)) {
    error_files.push_back(error_file_path(plan_.setup, part, place.rank));
  }
  writers_.files.open_folder(folder, std::move(error_files), log_patience);
}

bool WorkerGroup::lacks_terminal() const {
  return at_terminal_ && !has_terminal_;
}

void WorkerGroup::signal(int number) const {
  for (const auto& [pid, local_rank] : living_) {
    const bool shares_group = has_terminal_ && at_terminal_ == local_rank;
    const bool reached = !shares_group && ::kill(-pid, number) == 0;
    if (!reached) ::kill(pid, number);  // it shares our group, or has left its own
  }
}

std::string WorkerGroup::prefix_of(const WorkerPlace& place, Stream stream) const {
  return expand_macros(prefix_template(plan_.output, place.local_rank, stream),
                       macros_of(plan_.setup, place));
}

std::vector<WorkerEnded> WorkerGroup::reap(std::vector<EndedChild>& others) {
  std::vector<WorkerEnded> ended;
  for (const EndedChild& child : reaper_.reap()) {
    const auto worker = living_.extract(child.pid);
    if (worker.empty()) {  // perhaps an orphan that this subreaper had inherited
      others.push_back(child);
      continue;
    }
    const LocalRank local_rank = worker.mapped();
    if (const auto control = controls_.extract(local_rank)) control.mapped()->finish();
    WorkerEnd end = child.end;
    if (const int error = exec_failures_->of(child.pid); error != 0) {
      end = WorkerEnd{WorkerEnd::Kind::not_executed, error};
    }
    if (child.dumped_core) dumped_.insert(local_rank);
    const bool had_terminal = has_terminal_ && at_terminal_ == local_rank;
    if (had_terminal && end.kind == WorkerEnd::Kind::killed) modes_.restore();
    ended.push_back({local_rank, child.pid, end});
  }
  return ended;
}

bool WorkerGroup::waits_for_terminal() const {
  if (!has_terminal_ || !at_terminal_) return false;
  const auto is_there = [this](const auto& worker) { return worker.second == at_terminal_; };
  const auto found = std::ranges::find_if(living_, is_there);
  if (found == living_.end()) return false;
  siginfo_t info{};
  const auto pid = static_cast<id_t>(found->first);
  if (::waitid(P_PID, pid, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0) return false;
  return info.si_status == SIGTTIN || info.si_status == SIGTTOU;
}

void WorkerGroup::finish_output() {
  for (const auto& output : outputs_) output->finish();
}

WorkerGroup::LastLines WorkerGroup::last_lines(LocalRank local_rank) const {
  const auto found = errors_.find(local_rank);
  if (found == errors_.end()) return {};
  return {found->second->last_lines(), found->second->is_shown(), merged_.contains(local_rank)};
}

std::shared_ptr<ChildOutput> WorkerGroup::open_output(Fd pipe,
                                                      const Part& part,
                                                      const WorkerPlace& place,
                                                      Stream stream) {
  const bool is_out = stream == Stream::out;
  const StreamRoute route = route_of(plan_.output, place.rank, place.local_rank, stream);
  ChildOutput::Destination destination;
  if (route.console) destination.console = is_out ? stdout_ : stderr_;
  const bool is_terminal = ::isatty(is_out ? STDOUT_FILENO : STDERR_FILENO) == 1;
  destination.thins_bars = !is_terminal;
  const std::string log = log_path(plan_.setup, part, place.rank);
  if (route.file) destination.log = std::make_shared<Sink>(log + (is_out ? ".out" : ".err"));
  destination.filters = is_out ? plan_.output.out_filters : plan_.output.err_filters;
  const std::string kept =
      filtered_path(plan_.setup, part, is_out ? "filtered_stdout" : "filtered_stderr");
  if (!destination.filters.empty() && !kept.empty()) {
    std::shared_ptr<Sink>& filtered = filtered_[kept];
    if (!filtered) filtered = std::make_shared<Sink>(kept);
    destination.filtered = filtered;
  }
  destination.prefix = destination.filtered_prefix = prefix_of(place, stream);
  if (is_terminal && plan_.colours && !destination.prefix.empty()) {
    destination.prefix = coloured(destination.prefix, place.rank.value);
  }
  auto output = std::make_shared<ChildOutput>(context_, writers_, std::move(pipe), destination);
  output->start();
  return output;
}

}  // namespace ddprun
