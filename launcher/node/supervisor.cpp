#include "launcher/node/supervisor.hpp"

#include "launcher/link/local_link.hpp"
#include "launcher/link/member_link.hpp"
#include "launcher/node/machine_options.hpp"
#include "launcher/node/report.hpp"
#include "launcher/options/coordinator_options.hpp"
#include "launcher/options/variables.hpp"
#include "launcher/processes/descendants.hpp"
#include "launcher/system/clock.hpp"
#include "launcher/system/temporary_folder.hpp"
#include "launcher/system/terminal.hpp"
#include "launcher/system/time_of_day.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <csignal>
#include <utility>
#include <variant>

namespace ddprun {

Supervisor::Supervisor(Job job, GuardLink link)
    : job_(std::move(job)),
      link_(std::move(link)),
      context_(1),
      console_(context_, [this](const std::string& text) { say(text); }),
      files_(context_, [this](const std::string& text) { say(text); }),
      records_(context_, files_, job_, link_.guard, [this](const std::string& text) { say(text); }),
      stderr_(std::make_shared<Sink>(STDERR_FILENO, "standard error")),
      guard_(context_,
             std::move(link_.socket),
             {[this](int signal, bool from_terminal) { take_signal(signal, from_terminal); },
              [this] { lose_guard(); }}),
      lease_(guard_.socket(), link_.fence.line.get()),
      will_(guard_.socket(), {job_.meeting.will, job_.meeting.credentials}),
      children_(context_, SIGCHLD, [this] { reap(); }),
      last_output_(context_,
                   {console_, files_},
                   records_.events_writer(),
                   [this] { say_events_are_late(); }),
      hang_(job_.options.hang_timeout),
      hang_timer_(context_,
                  [this] {
                    reap();  // who has ended does not hang
                    look_for_hang();
                  }),
      workers_(context_,
               {console_, files_},
               plan_of(job_),
               link_.user_signals,
               link_.fence.group_ends,
               {[this](LocalRank rank, const ControlMessage& message) { hear(rank, message); },
                [this](LocalRank rank) {
                  progress_.closed(rank);
                  answer_save();
                },
                [this](const std::string& text) { say(text); }}),
      requests_(workers_, progress_, [this](const std::string& text) { say(text); }),
      failure_(job_, workers_),
      snapshot_(
          context_,
          job_.setup.snapshot,
          [this](const std::optional<SnapshotPosition>& seen) { agent_.tell(SnapshotSeen{seen}); }),
      store_(context_,
             job_,
             {[this](const std::string& text) { say(text); },
              [this](const StoreUnreachable& unreachable) { coordinator_->tell(unreachable); }}),
      agent_(
          context_,
          Agent(agent_options(job_)),
          [this](const AgentAction& action) { perform(action); },
          [this] {
            reap();  // handle past events before new ones
            agent_.tell(Timeout{});
          }),
      status_(context_, progress_, redraws_status()),
      wait_(context_,
            {[this](const std::string& text) { say(text); },
             status_.is_there() ? [this](const std::string& text) { status_.show_wait(text); }
                                : StatusRow::Redraw()}),
      slurm_(context_,
             console_,
             job_,
             link_.user_signals,
             {[this](const std::string& text) { say(text); },
              [this](const Outcome& outcome) { agent_.tell(GiveUp{outcome}); },
              [this](const StopRequested& stop) { coordinator_->tell(stop); },
              [this] { return !sweeping_; }}) {}

/// On a terminal that nobody else writes to, such as the reader of a pipe; else none.
StatusRow::Redraw Supervisor::redraws_status() {
  if (!job_.manner.redraws) return nullptr;
  console_.keep_bottom_line();
  if (!may_redraw(STDERR_FILENO) || is_pipe(STDOUT_FILENO)) return nullptr;
  return [this](const std::string& text) { console_.show(stderr_, BottomLine::status, text); };
}

int Supervisor::run() {
  const std::string note = replaced_variables_note(job_.setup.inherited);
  if (!note.empty()) say(note);
  for (const std::string& each : job_.notes) say(each);
  guard_.listen();
  children_.listen();
  records_.job_starts();
  agent_.watch([this](const AgentEvent& event) { records_.on(event); });
  reach_coordinator();
  agent_.start();
  context_.run();
  return *last_output_.status();
}

/// In this process if there is one node only.
void Supervisor::reach_coordinator() {
  JobLink::Handlers handlers{[this](const LinkEvent& event) {
                               if (const auto* end = std::get_if<FinishJob>(&event)) told(*end);
                               std::visit([this](const auto& what) { agent_.tell(what); }, event);
                               look_at_wait();
                             },
                             [this](const std::string& text) { say(text); },
                             [this](const CoordinatorEvent& event) {
                               records_.on(event);
                               slurm_.on_heard(event);
                             },
                             [this](std::optional<Instant> until) { lease_.renew(until); },
                             [this](const std::string& at) { will_.is_for(at); },
                             [this] { look_at_wait(); }};
  const RendezvousOptions& rendezvous = job_.options.rendezvous;
  address_ = job_.meeting.plan.own_address;
  if (!rendezvous.has_many_nodes()) {
    coordinator_ = std::make_unique<LocalLink>(
        context_, coordinator_options(job_.options), std::move(handlers));
    return;
  }
  auto member = std::make_unique<MemberLink>(
      context_, member_options(job_), job_.meeting.credentials, std::move(handlers));
  if (member->coordinates()) {
    for (const std::string& each : coordinating_notes(job_, member->endpoint())) say(each);
  }
  slurm_.start_steps(member->endpoint());
  coordinator_ = std::move(member);
}

/// Nobody waits for this node at the job's end. Where it leaves, its place is free once it is gone.
void Supervisor::told(const FinishJob& finish) {
  told_ = true;
  if (!finish.leaves) will_.is_for("");
}

/// While the link is made there is none yet.
void Supervisor::look_at_wait() {
  if (!coordinator_) return;
  records_.look(*coordinator_, agent_.machine());
  wait_.look(*coordinator_, agent_.machine());
}

/// A worker that has the terminal may write there, too.
void Supervisor::hear(LocalRank local_rank, const ControlMessage& message) {
  requests_.hear(local_rank, message);
  if (!reaping_) answer_save();
  if (!agent_.machine().terminal_worker()) status_.steps_told();
  if (std::holds_alternative<ControlHello>(message)) {
    hang_timer_.arm(hang_.next_deadline(progress_));
  }
}

/// The timer comes early where a worker has told something since. Time does not count in which a
/// person may have one in a debugger, or in which ddprun itself takes no output.
void Supervisor::look_for_hang() {
  const SilenceExcuse excuse{.terminal_worker = agent_.machine().terminal_worker().has_value(),
                             .output_blocked = console_.full() || files_.full()};
  while (auto hung = hang_.look(now(), excuse, progress_)) {
    for (const auto& [pid, local_rank] : workers_.living()) {
      if (local_rank == hung->local_rank) hung->pid = pid;
    }
    agent_.push(*hung);
  }
  hang_timer_.arm(hang_.next_deadline(progress_));
  agent_.drain();
}

void Supervisor::answer_save() {
  if (const auto answer = progress_.take_answer()) agent_.tell(*answer);
}

void Supervisor::report(const Outcome& outcome, const std::optional<FailureFacts>& facts) {
  if (outcome.exit_status == 0) return;
  if (facts) console_.write(stderr_, failure_details(outcome, *facts));
  if (is_reported_by_script(job_, told_)) return;
  say(fmt::format("exit status {}: {}", outcome.exit_status, outcome.text));
}

void Supervisor::say_events_are_late() {
  say(fmt::format("the last events are lost: {} has not taken them within {} s; see what reads it",
                  job_.options.events,
                  LastOutput::events_patience.count()));
}

void Supervisor::lose_guard() {
  if (last_output_.status()) {
    remove_folder(job_.setup.error_folder);
    last_output_.exit_now();
  }
  agent_.tell(GuardLost{});
}

/// No process waits for the rest of the output.
void Supervisor::end_without_guard(const Outcome& outcome) {
  records_.job_ends(outcome, failure_.facts_of(outcome), progress_, coordinator_->newest());
  remove_folder(job_.setup.error_folder);
  if (workers_.none_left() && !coordinator_->coordinates()) will_.deliver_here();
  last_output_.exit_with_files();
}

void Supervisor::take_signal(int signal, bool from_terminal) {
  if (last_output_.status()) {
    if (signal == SIGINT || !slurm_.is_queueing_again()) last_output_.exit_soon();
    return;
  }
  agent_.tell(SignalArrived{signal, from_terminal});
  slurm_.on_signal(signal);
}

/// All ends are queued before any of them is handled: effects of the first event (even
/// the next generation) must come after the last.
void Supervisor::reap() {
  coordinator_->look_at_lease();  // workers die by the guard when their lease has ended
  std::vector<EndedChild> others;
  reaping_ = true;
  for (const WorkerEnded& ended : workers_.reap(others)) {
    progress_.ended(ended.local_rank);
    agent_.push(ended);
  }
  reaping_ = false;
  if (const auto answer = progress_.take_answer()) agent_.push(*answer);
  if (workers_.living().empty()) status_.steps_over();
  for (const EndedChild& child : others) slurm_.on_child(child);
  if (sweeping_) sweep();
  if (workers_.waits_for_terminal()) agent_.push(WorkerLacksTerminal{});
  agent_.drain();
}

/// After reaping. What is killed here is reaped when its SIGCHLD comes.
void Supervisor::sweep() {
  if (!workers_.none_left()) {
    workers_.signal(SIGKILL);
    kill_below(::getpid());
    return;
  }
  sweeping_ = false;
  workers_.finish_output();
  workers_are_gone();
  agent_.push(AllGone{});
}

void Supervisor::say(const std::string& text) {
  console_.write(stderr_, fmt::format("ddprun {}: {}\n", time_of_day(), text));
}

}  // namespace ddprun
