#include "launcher/node/supervisor.hpp"

#include "launcher/guard/guard_message.hpp"
#include "launcher/node/coordinator_link.hpp"
#include "launcher/node/machine_options.hpp"
#include "launcher/node/report.hpp"
#include "launcher/options/variables.hpp"
#include "rendezvous/overloaded.hpp"

#include <csignal>
#include <cstdint>
#include <utility>
#include <variant>

namespace ddprun {

Supervisor::Supervisor(Job job, GuardLink link)
    : job_(std::move(job)),
      link_(std::move(link)),
      context_(1),
      console_(context_),
      records_(context_, console_.writers().files, job_, link_.guard, console_.sayer()),
      guard_(context_,
             std::move(link_.socket),
             {[this](int signal, bool from_terminal) {
                agent_.tell(SignalArrived{signal, from_terminal});
              },
              [this] {
                ending_.lose_guard();
                agent_.tell(GuardLost{});
              }}),
      lease_(to_guard_and_fence(guard_.socket(), link_.fence.line.get())),
      agent_(
          context_,
          Agent(agent_options(job_)),
          [this](const AgentAction& action) { perform(action); },
          [this] {
            workers_.reap();  // handle past events before new ones
            agent_.tell(Timeout{});
          }),
      status_(context_, progress_, job_.manner.redraws ? console_.begin_status_row() : nullptr),
      workers_(context_,
               console_.writers(),
               job_,
               link_,
               progress_,
               status_,
               agent_,
               {[this] { coordinator_->look_at_lease(); },
                [this](const EndedChild& child) { slurm_.on_child(child); },
                [this] { workers_are_gone(); },
                console_.sayer()}),
      snapshot_(
          context_,
          job_.setup.snapshot,
          [this](const std::optional<SnapshotPosition>& seen) { agent_.tell(SnapshotSeen{seen}); }),
      store_(context_,
             job_,
             {console_.sayer(),
              [this](const StoreUnreachable& unreachable) { coordinator_->tell(unreachable); }}),
      wait_(context_,
            {console_.sayer(),
             status_.is_there() ? [this](const std::string& text) { status_.show_wait(text); }
                                : StatusRow::Redraw()}),
      slurm_(context_,
             console_.writers().console,
             job_,
             link_.user_signals,
             {console_.sayer(),
              [this](const Outcome& outcome) { agent_.tell(GiveUp{outcome}); },
              [this] { agent_.tell(TimeIsUp{}); },
              [this] { return !workers_.is_killing(); }}),
      ending_(context_, console_, job_, {guard_.socket(), records_, workers_, progress_, slurm_}) {}

int Supervisor::run() {
  const std::string note = replaced_variables_note(job_.setup.inherited);
  if (!note.empty()) console_.say(note);
  for (const std::string& each : job_.notes) console_.say(each);
  guard_.listen();
  workers_.listen();
  records_.job_starts();
  agent_.watch([this](const AgentEvent& event) { records_.observe(event); });
  reach_coordinator();
  agent_.start();
  context_.run();
  return ending_.status().value();
}

void Supervisor::reach_coordinator() {
  CoordinatorLink made = link_to_coordinator(context_, job_, link_handlers());
  coordinator_ = std::move(made.link);
  if (!made.endpoint) return;
  if (coordinator_->coordinates()) {
    for (const std::string& each : coordinating_notes(job_, *made.endpoint)) console_.say(each);
  }
  slurm_.start_steps(*made.endpoint);
}

JobLink::Handlers Supervisor::link_handlers() {
  return {[this](const LinkEvent& event) {
            if (std::holds_alternative<FinishJob>(event)) ending_.told();
            std::visit([this](const auto& what) { agent_.tell(what); }, event);
            look_at_wait();
          },
          console_.sayer(),
          [this](const CoordinatorEvent& event) {
            records_.observe(event);
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

void Supervisor::workers_are_gone() {
  lease_.workers_are_gone();
  coordinator_->workers_are_gone();
}

void Supervisor::perform(const AgentAction& action) {
  records_.observe(action);
  std::visit(Overloaded{[this](const CloseStore&) { store_.close(); },
                        [this](const LookAtSnapshot&) { snapshot_.start(); },
                        [this](const SignalWorkers& what) {
                          workers_.perform(what);
                          slurm_.signal_workers(what.signal);
                        },
                        [this](const AskToSave& what) { workers_.perform(what); },
                        [this](const AskForSuspension&) { ::kill(link_.guard, SIGTSTP); },
                        [this](const Suspend& what) { workers_.perform(what); },
                        [this](const NeedNoLease&) { workers_are_gone(); },
                        [this](const HurryEnd& hurry) { ending_.hurry(hurry); },
                        [this](const Note& note) { console_.say(note.text); },
                        [this](const auto& what) { perform(what); }},
             action);
}

void Supervisor::perform(const BindStore&) {
  const std::string& address = job_.meeting.plan.own_address;  // for others
  const Result<std::uint16_t> port = store_.open(address);
  if (!port) return agent_.tell(StoreUnavailable{port.error()});
  agent_.tell(StoreBound{*port, address});
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
  if (const auto* stop = std::get_if<StopRequested>(&tell.news)) slurm_.stop_steps(*stop);
  look_at_wait();
}

void Supervisor::perform(const ExitWith& exit) {
  wait_.end();
  ending_.exit(exit.outcome, *coordinator_);
}

}  // namespace ddprun
