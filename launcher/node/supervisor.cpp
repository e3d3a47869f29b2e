#include "launcher/node/supervisor.hpp"

#include "launcher/link/local_link.hpp"
#include "launcher/link/member_link.hpp"
#include "launcher/node/machine_options.hpp"
#include "launcher/node/report.hpp"
#include "launcher/options/coordinator_options.hpp"
#include "launcher/options/variables.hpp"
#include "launcher/system/terminal.hpp"
#include "launcher/system/time_of_day.hpp"
#include "rendezvous/overloaded.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <utility>
#include <variant>

namespace ddprun {

Supervisor::Supervisor(Job job, GuardLink link)
    : say_([this](const std::string& text) { say(text); }),
      job_(std::move(job)),
      link_(std::move(link)),
      context_(1),
      console_(context_, say_),
      files_(context_, say_),
      records_(context_, files_, job_, link_.guard, say_),
      stderr_(std::make_shared<Sink>(STDERR_FILENO, "standard error")),
      guard_(context_,
             std::move(link_.socket),
             {[this](int signal, bool from_terminal) { take_signal(signal, from_terminal); },
              [this] {
                ending_.lose_guard();
                agent_.tell(GuardLost{});
              }}),
      lease_(guard_.socket(), link_.fence.line.get()),
      agent_(
          context_,
          Agent(agent_options(job_)),
          [this](const AgentAction& action) { perform(action); },
          [this] {
            workers_.reap();  // handle past events before new ones
            agent_.tell(Timeout{});
          }),
      status_(context_, progress_, redraws_status()),
      workers_(context_,
               {console_, files_},
               job_,
               link_,
               progress_,
               status_,
               agent_,
               {[this] { coordinator_->look_at_lease(); },
                [this](const EndedChild& child) { slurm_.on_child(child); },
                [this] { workers_are_gone(); },
                say_}),
      snapshot_(
          context_,
          job_.setup.snapshot,
          [this](const std::optional<SnapshotPosition>& seen) { agent_.tell(SnapshotSeen{seen}); }),
      store_(
          context_,
          job_,
          {say_, [this](const StoreUnreachable& unreachable) { coordinator_->tell(unreachable); }}),
      wait_(context_,
            {say_,
             status_.is_there() ? [this](const std::string& text) { status_.show_wait(text); }
                                : StatusRow::Redraw()}),
      slurm_(context_,
             console_,
             job_,
             link_.user_signals,
             {say_,
              [this](const Outcome& outcome) { agent_.tell(GiveUp{outcome}); },
              [this](const StopRequested& stop) { coordinator_->tell(stop); },
              [this] { return !workers_.is_killing(); }}),
      ending_(context_,
              {console_, files_},
              stderr_,
              job_,
              {guard_, records_, workers_, progress_, slurm_},
              say_) {}

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
  workers_.listen();
  records_.job_starts();
  agent_.watch([this](const AgentEvent& event) { records_.on(event); });
  reach_coordinator();
  agent_.start();
  context_.run();
  return ending_.status().value();
}

/// In this process if there is one node only.
void Supervisor::reach_coordinator() {
  const RendezvousOptions& rendezvous = job_.options.rendezvous;
  address_ = job_.meeting.plan.own_address;
  if (!rendezvous.has_many_nodes()) {
    coordinator_ =
        std::make_unique<LocalLink>(context_, coordinator_options(job_.options), link_handlers());
    return;
  }
  auto member = std::make_unique<MemberLink>(
      context_, member_options(job_), job_.meeting.credentials, link_handlers());
  if (member->coordinates()) {
    for (const std::string& each : coordinating_notes(job_, member->endpoint())) say(each);
  }
  slurm_.start_steps(member->endpoint());
  coordinator_ = std::move(member);
}

JobLink::Handlers Supervisor::link_handlers() {
  return {[this](const LinkEvent& event) {
            if (std::holds_alternative<FinishJob>(event)) ending_.told();
            std::visit([this](const auto& what) { agent_.tell(what); }, event);
            look_at_wait();
          },
          say_,
          [this](const CoordinatorEvent& event) {
            records_.on(event);
            slurm_.on_heard(event);
          },
          [this](std::optional<Instant> until) { lease_.renew(until); },
          [this](const std::string& at) { ending_.will_is_for(at); },
          [this] { look_at_wait(); }};
}

/// While the link is made there is none yet.
void Supervisor::look_at_wait() {
  if (!coordinator_) return;
  records_.look(*coordinator_, agent_.machine());
  wait_.look(*coordinator_, agent_.machine());
}

void Supervisor::take_signal(int signal, bool from_terminal) {
  if (ending_.status()) return ending_.hurry(signal);
  agent_.tell(SignalArrived{signal, from_terminal});
  slurm_.on_signal(signal);
}

void Supervisor::workers_are_gone() {
  lease_.workers_are_gone();
  coordinator_->workers_are_gone();
}

void Supervisor::say(const std::string& text) {
  console_.write(stderr_, fmt::format("ddprun {}: {}\n", time_of_day(), text));
}

void Supervisor::perform(const AgentAction& action) {
  records_.on(action);
  std::visit(Overloaded{[this](const CloseStore&) { store_.close(); },
                        [this](const LookAtSnapshot&) { snapshot_.start(); },
                        [this](const SignalWorkers& what) { workers_.perform(what); },
                        [this](const AskToSave& what) { workers_.perform(what); },
                        [this](const AskForSuspension&) { ::kill(link_.guard, SIGTSTP); },
                        [this](const Suspend& what) { workers_.perform(what); },
                        [this](const NeedNoLease&) { workers_are_gone(); },
                        [this](const Note& note) { say(note.text); },
                        [this](const auto& what) { perform(what); }},
             action);
}

void Supervisor::perform(const BindStore&) {
  const Result<std::uint16_t> port = store_.open(address_);
  if (!port) return agent_.tell(StoreUnavailable{port.error()});
  agent_.tell(StoreBound{*port, address_});
}

void Supervisor::perform(const SpawnWorkers& spawn) {
  coordinator_->workers_start();
  lease_.workers_start();
  store_.begin(spawn.part);
  workers_.start(spawn.part, lease_.end());
  records_.workers_live(workers_.living());
}

void Supervisor::perform(const KillAll& kill) {
  store_.stop_looking();
  look_at_wait();
  workers_.perform(kill);
}

void Supervisor::perform(const TellCoordinator& tell) {
  coordinator_->tell(tell.news);
  look_at_wait();
}

void Supervisor::perform(const ExitWith& exit) {
  wait_.end();
  ending_.exit(exit.outcome, *coordinator_);
}

}  // namespace ddprun
