#include "launcher/node/supervisor.hpp"

#include "launcher/guard/guard_message.hpp"
#include "launcher/node/machine_options.hpp"
#include "launcher/node/report.hpp"
#include "launcher/options/coordinator_options.hpp"
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
      console_(context_, first_notes(job_)),
      records_(context_, console_.writers().files, job_, link_.guard, console_.sayer()),
      guard_(context_,
             std::move(link_.socket),
             {[this](int signal, bool from_terminal) {
                node_.tell(LocalEvent(SignalArrived{signal, from_terminal}));
              },
              [this] { node_.tell(LocalEvent(GuardLost{})); }}),
      node_(
          context_,
          Node(Agent(agent_options(job_)), membership(), LastSteps(job_.slurm.has_value()), *this),
          [this](const NodeAction& action) { perform(action); },
          [this] {
            workers_.reap();  // workers that have ended come before what is due
            node_.tell(Timeout{});
          }),
      status_(context_, progress_, job_.manner.redraws ? console_.begin_status_row() : nullptr),
      workers_(context_,
               console_.writers(),
               job_,
               link_,
               progress_,
               status_,
               node_,
               {[this](const EndedChild& child) { slurm_.on_child(child); }, console_.sayer()}),
      snapshot_(context_,
                job_.setup.snapshot,
                [this](const std::optional<SnapshotPosition>& seen) {
                  node_.tell(LocalEvent(SnapshotSeen{seen}));
                }),
      store_(context_,
             job_,
             {console_.sayer(),
              [this](const StoreUnreachable& unreachable) {
                node_.tell(ParticipantEvent(TellNews{unreachable}));
              }}),
      wait_(context_,
            {console_.sayer(),
             status_.is_there() ? [this](const std::string& text) { status_.show_wait(text); }
                                : StatusRow::Redraw()}),
      slurm_(context_,
             console_.writers().console,
             job_,
             link_.user_signals,
             {console_.sayer(),
              [this](const Outcome& outcome) { node_.tell(LocalEvent(GiveUp{outcome})); },
              [this] { node_.tell(LocalEvent(TimeIsUp{})); },
              [this] { return !workers_.is_killing(); }}),
      ending_(context_,
              console_,
              job_,
              {guard_.socket(), node_, records_, workers_, progress_, slurm_}) {}

/// The coordinator of a job of one node is in this process.
Membership Supervisor::membership() {
  if (!job_.options.rendezvous.has_many_nodes()) {
    return LocalCoordinator(coordinator_options(job_.options), *this);
  }
  member_.emplace(
      context_,
      member_options(job_),
      job_.meeting.credentials,
      MemberLink::Handlers{[this](ParticipantEvent event) { node_.tell(std::move(event)); },
                           console_.sayer()});
  return Participant(member_->participant_options(), *this);
}

int Supervisor::run() {
  guard_.listen();
  workers_.listen();
  start();
  context_.run();
  return ending_.status().value();
}

void Supervisor::start() {
  node_.watch([this] { look_at_wait(); });
  node_.start(now());
  if (!member_) return;
  if (node_.machine().coordinator() != nullptr) {
    for (const std::string& each : coordinating_notes(job_, member_->endpoint())) {
      console_.say(each);
    }
  }
  slurm_.start_steps(member_->endpoint());
}

void Supervisor::told(const Agent&, const AgentEvent& event) {
  if (std::holds_alternative<FinishJob>(event)) ending_.told();
  records_.observe(event);
}

void Supervisor::told(const Coordinator&, const CoordinatorEvent& event) {
  records_.observe(event);
  slurm_.on_heard(event);
}

void Supervisor::answered(const Agent&, const std::vector<AgentAction>& actions) {
  for (const AgentAction& action : actions) {
    records_.observe(action);
    if (const auto* tell = std::get_if<TellCoordinator>(&action)) {
      if (const auto* stop = std::get_if<StopRequested>(&tell->news)) slurm_.stop_steps(*stop);
    }
  }
}

void Supervisor::answered(const Coordinator&, const std::vector<CoordinatorAction>&) {
  look_at_wait();
}

void Supervisor::look_at_wait() {
  records_.look(node_.machine());
  node_.machine().outcome() ? wait_.end() : wait_.look(node_.machine());
}

void Supervisor::perform(const NodeAction& action) {
  std::visit(Overloaded{[this](const Note& note) { console_.say(note.text); },
                        [this](const GuardedLease& lease) {
                          send_to_both(guard_.socket(), link_.fence.line.get(), lease);
                        },
                        [this](const WillIsFor& will) { ending_.will_is_for(will.address); },
                        [this](const LocalAction& what) { perform(what); },
                        [this](const LinkAction& what) { member_->perform(what); },
                        [this](const LastStepAction& what) { ending_.perform(what); }},
             action);
}

void Supervisor::perform(const LocalAction& action) {
  std::visit(Overloaded{[this](const CloseStore&) { store_.close(); },
                        [this](const LookAtSnapshot&) { snapshot_.start(); },
                        [this](const SignalWorkers& what) {
                          workers_.perform(what);
                          slurm_.signal_workers(what.signal);
                        },
                        [this](const AskToSave& what) { workers_.perform(what); },
                        [this](const AskForSuspension&) { ::kill(link_.guard, SIGTSTP); },
                        [this](const Suspend& what) { workers_.perform(what); },
                        [this](const auto& what) { perform(what); }},
             action);
}

void Supervisor::perform(const BindStore&) {
  const std::string& address = job_.meeting.plan.own_address;  // which other nodes use
  const Result<std::uint16_t> port = store_.open(address);
  port ? node_.tell(LocalEvent(StoreBound{*port, address}))
       : node_.tell(LocalEvent(StoreUnavailable{port.error()}));
}

void Supervisor::perform(const SpawnWorkers& spawn) {
  store_.begin(spawn.part);
  workers_.start(spawn.part, node_.machine().lease_end());
  records_.workers_live(workers_.living());
}

void Supervisor::perform(const KillAll& kill) {
  store_.stop_looking();
  workers_.perform(kill);
}

}  // namespace ddprun
