// The supervisor: what the agent asks for.
#include "launcher/node/report.hpp"
#include "launcher/node/supervisor.hpp"
#include "launcher/system/clock.hpp"
#include "launcher/text/text_of_count.hpp"
#include "launcher/workers/worker_env.hpp"
#include "rendezvous/overloaded.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <utility>
#include <variant>

namespace ddprun {

void Supervisor::perform(const AgentAction& action) {
  records_.on(action);
  std::visit(Overloaded{[this](const AskForSuspension&) { ::kill(link_.guard, SIGTSTP); },
                        [this](const auto& what) { perform(what); }},
             action);
}

void Supervisor::perform(const BindStore&) {
  const Result<std::uint16_t> port = store_.open(address_);
  if (!port) return agent_.tell(StoreUnavailable{port.error()});
  agent_.tell(StoreBound{*port, address_});
}

void Supervisor::perform(const CloseStore&) {
  store_.close();
}

void Supervisor::perform(const LookAtSnapshot&) {
  snapshot_.start();
}

void Supervisor::perform(const SpawnWorkers& spawn) {
  part_ = spawn.part;
  coordinator_->workers_start();
  lease_.workers_start();
  store_.begin(part_);
  failure_.begin(part_);
  progress_.begin(part_);
  const auto refused = workers_.spawn(part_, lease_.end());
  records_.workers_live(workers_.living());
  const int count = part_.worker_count;
  say(fmt::format("generation {} ({}): {} on {}, {}",
                  part_.number.value,
                  part_.cause,
                  text_of_count(count, "worker"),
                  job_.setup.host,
                  threads_text(job_.setup, count)));
  if (workers_.lacks_input()) {
    say(fmt::format("rank {} has no input: standard input went to it in an earlier generation",
                    job_.options.stdin_rank->value));
  }
  if (workers_.lacks_terminal()) {
    say(
        fmt::format("rank {} is here, but no terminal that it could have: start this node's ddprun "
                    "at one",
                    job_.options.debug_rank->value));
  }
  for (const WorkerEnded& worker : refused) agent_.tell(worker);
}

void Supervisor::perform(const SignalWorkers& signal) {
  if (signal.signal == SIGTERM) requests_.stop();
  workers_.signal(signal.signal);
}

void Supervisor::perform(const AskToSave& ask) {
  if (!requests_.save(ask.signal) && !ask.signal) agent_.tell(SaveAnswered{});
}

void Supervisor::perform(const KillAll&) {
  sweeping_ = true;
  store_.stop_looking();
  look_at_wait();
  reap();
}

/// The guard stops when it sees that this process has, and both go on together.
void Supervisor::perform(const Suspend&) {
  const Instant before = now();
  workers_.signal(SIGSTOP);
  (void)::raise(SIGSTOP);
  workers_.signal(SIGCONT);
  const Millis after = now() - before;
  progress_.resumed(now(), after);
  agent_.push(Resumed{after});
}

void Supervisor::perform(const TellCoordinator& tell) {
  // They got SIGKILL: they execute nothing any more, and need no lease.
  if (std::holds_alternative<WorkersStuck>(tell.news)) workers_are_gone();
  coordinator_->tell(tell.news);
  look_at_wait();
}

void Supervisor::perform(const Note& note) {
  say(note.text);
}

void Supervisor::workers_are_gone() {
  lease_.workers_are_gone();
  coordinator_->workers_are_gone();
}

/// A further signal or the guard's death cuts this short.
void Supervisor::perform(const ExitWith& exit) {
  wait_.end();
  last_output_.exits_with(exit.outcome.exit_status);
  if (guard_.is_lost()) return end_without_guard(exit.outcome);
  slurm_.job_is_over();  // while other agents are told so, and end
  coordinator_->when_told(exit.outcome, [this, outcome = exit.outcome] {
    slurm_.finish(outcome, coordinator_->coordinates(), [this](const Outcome& final) {
      const bool by_script = is_reported_by_script(job_, told_);
      last_output_.exits_with(by_script ? 0 : final.exit_status);
      const auto facts = failure_.facts_of(final);
      records_.job_ends(final, facts, progress_, coordinator_->newest());
      last_output_.write_out([this, final, facts] { report(final, facts); });
    });
  });
}

}  // namespace ddprun
