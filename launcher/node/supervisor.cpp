#include "launcher/node/supervisor.hpp"

#include "launcher/link/local_link.hpp"
#include "launcher/link/member_link.hpp"
#include "launcher/node/machine_options.hpp"
#include "launcher/node/report.hpp"
#include "launcher/options/coordinator_options.hpp"
#include "launcher/options/variables.hpp"
#include "launcher/processes/descendants.hpp"
#include "launcher/system/random_number.hpp"
#include "launcher/text/text_of_count.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

int open_child_signals() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const int fd = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

std::string on_one_host(const Job& job) {
  return fmt::format("{} is an address of every host: only agents of this one can take part",
                     job.options.rendezvous.endpoint->host);
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
      lease_(guard_.native_handle(), link_.fence.line.get()),
      child_signals_(context_, open_child_signals()),
      exit_timer_(context_),
      workers_(context_, writer_, plan_of(job_), link_.user_signals, link_.fence.group_ends),
      snapshot_(
          context_,
          job_.setup.snapshot,
          [this](const std::optional<SnapshotPosition>& seen) { agent_.tell(SnapshotSeen{seen}); }),
      agent_(
          context_,
          Agent(agent_options(job_)),
          [this](const AgentAction& action) { perform(action); },
          [this] {
            reap();  // what has happened comes before what has not
            agent_.tell(Timeout{});
          }) {}

int Supervisor::run() {
  const std::string note = replaced_variables_note(job_.setup.inherited);
  if (!note.empty()) say(note);
  for (const std::string& each : job_.notes) say(each);
  wait_for_guard();
  wait_for_children();
  if (job_.slurm) start_batch_job();
  reach_coordinator();
  agent_.start();
  context_.run();
  return is_told_for_all() ? 0 : *exit_status_;
}

/// In this process if there is one node only.
void Supervisor::reach_coordinator() {
  JobLink::Handlers handlers{[this](const LinkEvent& event) {
                               if (std::holds_alternative<FinishJob>(event)) told_ = true;
                               std::visit([this](const auto& what) { agent_.tell(what); }, event);
                             },
                             [this](const std::string& text) { say(text); },
                             [this](const CoordinatorEvent& event) {
                               if (steps_) steps_->on_heard(event);
                               if (batch_) batch_->watch();
                             },
                             [this](std::optional<Instant> until) { lease_.renew(until); }};
  const RendezvousOptions& rendezvous = job_.options.rendezvous;
  if (!rendezvous.has_many_nodes()) {
    address_ = "127.0.0.1";
    workers_.reach_store_by(interface_of(address_, job_.meeting.interfaces));
    coordinator_ = std::make_unique<LocalLink>(
        context_, coordinator_options(job_.options), std::move(handlers));
    return;
  }
  address_ = job_.meeting.plan.own_address;
  workers_.reach_store_by(job_.meeting.plan.interface);
  auto member = std::make_unique<MemberLink>(context_,
                                             member_options(job_, random_number()),
                                             job_.meeting.credentials,
                                             std::move(handlers));
  if (member->coordinates()) {
    if (!job_.meeting.credentials.authenticated) say(not_authenticated);
    if (job_.meeting.plan.is_on_one_host) say(on_one_host(job_));
    say(fmt::format("coordinating job {} for {} to {} nodes at {}",
                    job_.setup.job_id,
                    rendezvous.gathering.nodes_min,
                    rendezvous.gathering.nodes_max,
                    text_of(member->endpoint())));
  }
  if (job_.steps) start_steps(member->endpoint());
  coordinator_ = std::move(member);
}

void Supervisor::start_steps(const Endpoint& endpoint) {
  job_.steps->endpoint = text_of(endpoint);
  NodeSteps::Handlers handlers;
  handlers.on_note = [this](const std::string& text) { say(text); };
  handlers.on_abandon = [this](const std::string& why) {
    constexpr auto status = static_cast<int>(ExitStatus::rendezvous_unavailable);
    agent_.tell(GiveUp{Outcome{status, why, {}}});
  };
  handlers.on_none_left = [this] {
    agent_.tell(GiveUp{outcome_of(asked_, job_.options.stop.saving_signals)});
  };
  steps_ = std::make_unique<NodeSteps>(
      context_, writer_, *job_.steps, link_.user_signals, std::move(handlers));
}

/// Those that do not ask for the end of the job are for all workers, and this node has none.
void Supervisor::pass_to_steps(int signal) {
  if (is_for_workers(signal) && !saves({signal}, job_.options.stop.saving_signals)) {
    return steps_->signal(signal);
  }
  asked_ = {signal};
  steps_->stop();
}

void Supervisor::start_batch_job() {
  BatchJob::Handlers handlers;
  handlers.on_note = [this](const std::string& text) { say(text); };
  handlers.on_stop = [this] { stop_to_go_on(); };
  handlers.may_start = [this] { return !sweeping_; };
  batch_ = std::make_unique<BatchJob>(
      context_, writer_, link_.user_signals, *job_.slurm, job_.options.stop, std::move(handlers));
}

void Supervisor::stop_to_go_on() {
  coordinator_->tell(StopRequested{time_is_up});
  if (!steps_) return;
  asked_ = {time_is_up};
  steps_->stop();
}

void Supervisor::perform(const AgentAction& action) {
  std::visit([this](const auto& what) { on(what); }, action);
}

void Supervisor::on(const BindStore&) {
  auto store = StoreServer::listen(context_,
                                   store_address(address_, job_.meeting.interfaces),
                                   [this](const std::string& text) { say(text); });
  if (!store) return agent_.tell(StoreUnavailable{store.error()});
  store_ = *std::move(store);
  agent_.tell(StoreBound{store_->port(), address_});
}

void Supervisor::on(const CloseStore&) {
  store_.reset();
}

void Supervisor::on(const LookAtSnapshot&) {
  snapshot_.start();
}

void Supervisor::on(const SpawnWorkers& spawn) {
  part_ = spawn.part;
  coordinator_->workers_start();
  lease_.workers_start();
  if (part_.group_rank == 0) store_->open_for(admission_for(part_, job_));
  const auto refused = workers_.spawn(part_, lease_.end());
  if (job_.options.rendezvous.has_many_nodes()) check_store();
  const int count = part_.worker_count;
  say(fmt::format("generation {} ({}): {} on {}, OMP_NUM_THREADS={} each of {} cores",
                  part_.number.value,
                  part_.cause,
                  text_of_count(count, "worker"),
                  job_.setup.host,
                  threads_per_worker(job_.setup, count),
                  job_.setup.core_count));
  for (const WorkerEnded& worker : refused) agent_.tell(worker);
}

/// Beside the workers, which take longer to begin than a store that is there takes to answer; and
/// for longer than it takes until a lost node is known to be lost, which is another matter.
void Supervisor::check_store() {
  constexpr Millis margin{6'000};
  const auto tell = [this](const std::string& why) {
    StoreUnreachable unreachable;
    unreachable.generation = part_.number;
    unreachable.why = why;
    coordinator_->tell(unreachable);
  };
  const Millis patience = job_.options.rendezvous.times.dead_after + margin;
  store_check_ = std::make_unique<StoreCheck>(
      context_, part_.master_address, part_.master_port, patience, tell);
}

void Supervisor::on(const SignalWorkers& signal) {
  workers_.signal(signal.signal);
}

void Supervisor::on(const KillAll&) {
  sweeping_ = true;
  store_check_.reset();
  reap();
}

void Supervisor::on(const TellCoordinator& tell) {
  // They are killed for good: they run nothing any more, and need no lease.
  if (std::holds_alternative<WorkersStuck>(tell.news)) workers_are_gone();
  coordinator_->tell(tell.news);
}

void Supervisor::workers_are_gone() {
  lease_.workers_are_gone();
  coordinator_->workers_are_gone();
}

/// What is left to do is to write out; a further signal or the guard's death cuts that short. What
/// the writer has to say comes first, so that the last line is the one about the status.
void Supervisor::on(const ExitWith& exit) {
  exit_status_ = exit.outcome.exit_status;
  if (guard_lost_) return exit_now();  // nobody waits for the rest of the output
  coordinator_->when_told(exit.outcome, [this, outcome = exit.outcome] {
    if (!steps_) return leave_batch_job(outcome);
    steps_->finish([this, outcome] { leave_batch_job(outcome); });
  });
}

/// By whoever coordinates: a job is queued again once.
void Supervisor::leave_batch_job(const Outcome& outcome) {
  if (!batch_ || !coordinator_->coordinates()) return write_out(outcome);
  batch_->finish(outcome, [this](const Outcome& final) {
    exit_status_ = final.exit_status;
    write_out(final);
  });
}

void Supervisor::write_out(const Outcome& outcome) {
  writer_.when_drained([this, outcome] {
    report(outcome);
    writer_.when_drained([this] { context_.stop(); });
  });
}

void Supervisor::report(const Outcome& outcome) {
  if (outcome.exit_status == 0) return;
  if (is_own(outcome)) {
    writer_.write(stderr_,
                  failure_details(
                      outcome, last_lines(outcome), error_file(outcome), job_.command.executable));
  }
  if (is_told_for_all()) return;
  say(fmt::format("exit status {}: {}", outcome.exit_status, outcome.text));
}

/// The script has heard the job's outcome and ends with its status, so that agents need not.
bool Supervisor::is_told_for_all() const {
  return job_.options.anchored && !job_.is_witness() && told_;
}

/// Whether the job ended by the failure of one of this node's workers.
bool Supervisor::is_own(const Outcome& outcome) const {
  if (!outcome.failure) return false;
  const int place = outcome.failure->rank.value - part_.first_rank.value;
  return place >= 0 && place < part_.worker_count;
}

std::deque<std::string> Supervisor::last_lines(const Outcome& outcome) const {
  if (!is_own(outcome)) return {};
  return workers_.last_lines(outcome.failure->local_rank);
}

/// Where the failed worker has left a report of its own, or empty.
std::string Supervisor::error_file(const Outcome& outcome) const {
  if (!is_own(outcome) || job_.setup.log_dir.empty()) return {};
  std::string path = error_file_path(job_.setup, part_, outcome.failure->rank);
  return ::access(path.c_str(), R_OK) == 0 ? path : std::string();
}

/// Without joining the writer, which may hang in a terminal or file that takes nothing more.
void Supervisor::exit_now() const {
  std::_Exit(*exit_status_);
}

/// Writing out takes no time unless whoever reads has stopped reading; then nobody waits for it.
void Supervisor::exit_soon() {
  if (exits_soon_) return;  // who asks again and again shall not wait the longer for it
  exits_soon_ = true;
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
        if (guard_lost_ && exit_status_) return exit_now();
        if (guard_lost_) return agent_.tell(GuardLost{});
        for (ssize_t i = 0; i < count; ++i) take_signal(bytes[static_cast<std::size_t>(i)]);
        wait_for_guard();
      });
}

/// Slurm ends the job while that is being queued again, which is waited for.
void Supervisor::take_signal(unsigned char byte) {
  const int signal = byte & ~from_terminal_bit;
  if (exit_status_) {
    if (signal == SIGINT || !batch_ || !batch_->is_finishing()) exit_soon();
    return;
  }
  agent_.tell(SignalArrived{signal, (byte & from_terminal_bit) != 0});
  if (steps_) pass_to_steps(signal);
}

void Supervisor::wait_for_children() {
  child_signals_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
        if (error) return;
        // Signals merge: only waitid tells who has ended.
        std::array<signalfd_siginfo, 16> ignored{};
        while (::read(child_signals_.native_handle(), ignored.data(), sizeof ignored) > 0) continue;
        reap();
        wait_for_children();
      });
}

/// All that has ended is queued before any of it is acted upon: what the first event causes (even
/// the next generation) must come after the last.
void Supervisor::reap() {
  coordinator_->look_at_lease();  // workers die by the guard when their lease has ended
  if (sweeping_) {
    workers_.signal(SIGKILL);
    kill_below(::getpid());
  }
  std::vector<EndedChild> others;
  for (const WorkerEnded& ended : workers_.reap(others)) agent_.push(ended);
  for (const EndedChild& child : others) {
    if (steps_) steps_->on_child(child);
    if (batch_) batch_->on_child(child);
  }
  if (sweeping_ && workers_.none_left()) {
    sweeping_ = false;
    workers_.finish_output();
    workers_are_gone();
    agent_.push(AllGone{});
  }
  agent_.drain();
}

void Supervisor::say(const std::string& text) {
  writer_.write(stderr_, fmt::format("ddprun {}: {}\n", time_of_day(), text));
}

}  // namespace ddprun
