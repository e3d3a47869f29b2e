#include "launcher/supervisor.hpp"

#include "launcher/descendants.hpp"
#include "launcher/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

Instant now() {
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since_boot).count()};
}

int open_child_signals() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const int fd = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

AgentOptions agent_options(const Job& job) {
  AgentOptions options;
  options.host = job.setup.host;
  options.address = "127.0.0.1";
  options.worker_count = job.options.worker_count;
  options.shares_terminal = job.share_terminal;
  return options;
}

CoordinatorOptions coordinator_options(const Options& options) {
  return {.restarts_max = options.restarts_max,
          .grace = options.grace,
          .restart_grace = options.restart_grace};
}

std::string time_of_day() {
  const auto at = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()) % 1000;
  return fmt::format(
      "{:%H:%M:%S}.{:03}", fmt::localtime(std::chrono::system_clock::to_time_t(at)), ms.count());
}

}  // namespace

Supervisor::Supervisor(Job job, GuardLink link)
    : job_(std::move(job)),
      link_(std::move(link)),
      context_(1),
      writer_(context_, [this](const std::string& text) { say(text); }),
      stderr_(std::make_shared<Sink>(STDERR_FILENO, "standard error")),
      guard_(context_, link_.socket.release()),
      child_signals_(context_, open_child_signals()),
      timer_(context_),
      exit_timer_(context_),
      workers_(context_, writer_, job_, link_.user_signals),
      agent_(agent_options(job_)),
      coordinator_(coordinator_options(job_.options)) {}

int Supervisor::run() {
  const std::string note = replaced_variables_note(job_.setup.inherited);
  if (!note.empty()) say(note);
  wait_for_guard();
  wait_for_children();
  std::vector<AgentAction> first;
  agent_.start(first);
  for (const AgentAction& action : first) perform(action);
  context_.run();
  return *exit_status_;
}

void Supervisor::dispatch(Event event) {
  events_.push_back(std::move(event));
  drain();
}

/// Feeds the events, and then whatever events their actions cause, one after the other.
void Supervisor::drain() {
  if (dispatching_) return;
  dispatching_ = true;
  while (!events_.empty()) {
    const Event next = std::move(events_.front());
    events_.pop_front();
    if (const auto* happened = std::get_if<AgentEvent>(&next)) {
      std::vector<AgentAction> actions;
      agent_.on_event(now(), *happened, actions);
      for (const AgentAction& action : actions) perform(action);
    } else {
      std::vector<CoordinatorAction> actions;
      coordinator_.on_event(now(), std::get<CoordinatorEvent>(next), actions);
      for (const CoordinatorAction& action : actions) perform(action);
    }
  }
  dispatching_ = false;
  arm_timer();
}

void Supervisor::perform(const AgentAction& action) {
  std::visit([this](const auto& what) { on(what); }, action);
}

/// The coordinator is in this process: its messages to the agent are events.
void Supervisor::perform(const CoordinatorAction& action) {
  std::visit(
      [this](const auto& what) {
        if constexpr (std::is_same_v<std::decay_t<decltype(what)>, Note>) {
          say(what.text);
        } else {
          dispatch(AgentEvent(what));
        }
      },
      action);
}

void Supervisor::on(const BindStore&) {
  auto store =
      StoreServer::listen(context_, "127.0.0.1", [this](const std::string& text) { say(text); });
  if (!store) return dispatch(AgentEvent(StoreUnavailable{store.error()}));
  store_ = *std::move(store);
  dispatch(AgentEvent(StoreBound{store_->port()}));
}

void Supervisor::on(const CloseStore&) {
  store_.reset();
}

void Supervisor::on(const SpawnWorkers& spawn) {
  generation_ = spawn.generation;
  const auto refused = workers_.spawn(generation_, NodeId{});
  const int count = generation_.world_size();
  say(fmt::format("generation {} ({}): {} worker{} on {}, OMP_NUM_THREADS={} each of {} cores",
                  generation_.number.value,
                  generation_.cause,
                  count,
                  count == 1 ? "" : "s",
                  job_.setup.host,
                  threads_per_worker(job_.setup, count),
                  job_.setup.core_count));
  for (const WorkerEnded& worker : refused) dispatch(AgentEvent(worker));
}

void Supervisor::on(const SignalWorkers& signal) {
  workers_.signal(signal.signal);
}

void Supervisor::on(const KillAll&) {
  sweeping_ = true;
  reap();
}

void Supervisor::on(const TellCoordinator& tell) {
  dispatch(tell.event);
}

/// What is left to do is to write out; a further signal or the guard's death cuts that short. What
/// the writer has to say comes first, so that the last line is the one about the status.
void Supervisor::on(const ExitWith& exit) {
  exit_status_ = exit.outcome.exit_status;
  if (guard_lost_) return exit_now();  // nobody waits for the rest of the output
  writer_.when_drained([this, outcome = exit.outcome] {
    report(outcome);
    writer_.when_drained([this] { context_.stop(); });
  });
}

void Supervisor::report(const Outcome& outcome) {
  if (outcome.exit_status == 0) return;
  writer_.write(
      stderr_,
      failure_details(outcome, last_lines(outcome), error_file(outcome), job_.command.executable));
  say(fmt::format("exit status {}: {}", outcome.exit_status, outcome.text));
}

std::deque<std::string> Supervisor::last_lines(const Outcome& outcome) const {
  if (!outcome.failure) return {};
  return workers_.last_lines(outcome.failure->local_rank);
}

/// Where the failed worker has left a report of its own, or empty.
std::string Supervisor::error_file(const Outcome& outcome) const {
  if (!outcome.failure || job_.setup.log_dir.empty()) return {};
  std::string path = error_file_path(job_.setup, generation_, outcome.failure->rank);
  return ::access(path.c_str(), R_OK) == 0 ? path : std::string();
}

/// Without joining the writer, which may hang in a terminal or file that takes nothing more.
void Supervisor::exit_now() const {
  std::_Exit(*exit_status_);
}

/// Writing out takes no time unless whoever reads has stopped reading; then nobody waits for it.
void Supervisor::exit_soon() {
  exit_timer_.expires_after(std::chrono::milliseconds(200));
  exit_timer_.async_wait([this](boost::system::error_code error) {
    if (!error) exit_now();
  });
}

void Supervisor::wait_for_guard() {
  guard_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
        if (error) return;
        std::array<unsigned char, 64> bytes{};
        const ssize_t count = ::read(guard_.native_handle(), bytes.data(), bytes.size());
        guard_lost_ = count <= 0;
        if (exit_status_) return guard_lost_ ? exit_now() : exit_soon();
        if (guard_lost_) return dispatch(AgentEvent(GuardLost{}));
        for (ssize_t i = 0; i < count; ++i) {
          const unsigned char byte = bytes[static_cast<std::size_t>(i)];
          dispatch(AgentEvent(
              SignalArrived{byte & ~from_terminal_bit, (byte & from_terminal_bit) != 0}));
        }
        wait_for_guard();
      });
}

void Supervisor::wait_for_children() {
  child_signals_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
        if (error) return;
        std::array<signalfd_siginfo, 16>
            ignored{};  // signals merge: only waitid tells who has ended
        while (::read(child_signals_.native_handle(), ignored.data(), sizeof ignored) > 0) continue;
        reap();
        wait_for_children();
      });
}

/// All that has ended is queued before any of it is acted upon: what the first event causes (even
/// the next generation) must come after the last.
void Supervisor::reap() {
  if (sweeping_) {
    workers_.signal(SIGKILL);
    kill_below(::getpid());
  }
  for (const WorkerEnded& ended : workers_.reap()) events_.emplace_back(AgentEvent(ended));
  if (sweeping_ && workers_.none_left()) {
    sweeping_ = false;
    workers_.finish_output();
    events_.emplace_back(AgentEvent(AllGone{}));
  }
  drain();
}

void Supervisor::arm_timer() {
  const std::optional<Instant> agent = agent_.next_deadline();
  const std::optional<Instant> coordinator = coordinator_.next_deadline();
  if (!agent && !coordinator) {
    timer_.cancel();
    return;
  }
  const Instant either = agent ? *agent : *coordinator;
  const Instant next = std::min(agent.value_or(either), coordinator.value_or(either));
  timer_.expires_at(boost::asio::steady_timer::time_point(std::chrono::milliseconds(next.ms)));
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    reap();  // what has happened comes before what has not
    dispatch(CoordinatorEvent(Timeout{}));
    dispatch(AgentEvent(Timeout{}));
  });
}

void Supervisor::say(const std::string& text) {
  writer_.write(stderr_, fmt::format("ddprun {}: {}\n", time_of_day(), text));
}

}  // namespace ddprun
