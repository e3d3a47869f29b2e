#include "launcher/node/job_observer.hpp"

#include "rendezvous/overloaded.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace ddprun {

void JobObserver::on(const AgentEvent& event, Events& out) {
  const auto append = [&](const auto& what) { out.emplace_back(what); };
  std::visit(Overloaded{[](const StoreBound&) {},
                        [](const StoreUnavailable&) {},
                        [](const SnapshotSeen&) {},
                        [](const StartGeneration&) {},  // SpawnWorkers follows
                        [&](const StopGeneration& stop) {
                          if (!living_.empty() && stop.generation == generation_) append(stop);
                        },
                        [](const SaveGeneration&) {},  // what workers write is seen in the report
                        [](const SaveAnswered&) {},
                        [](const FinishJob&) {},  // JobFinished follows
                        [&](const WorkerEnded& ended) {
                          living_.erase(ended.local_rank);
                          append(ended);
                        },
                        [](const WorkerHung&) {},  // WorkerFailed follows
                        [](const AllGone&) {},
                        [&](const SignalArrived& arrived) {
                          append(SignalReceived{arrived.signal, arrived.from_terminal});
                        },
                        [](const Resumed&) {},
                        [](const WorkerLacksTerminal&) {},
                        [](const GuardLost&) {},  // JobFinished names it
                        [](const TimeIsUp&) {},   // the coordinator hears it
                        [&](const LeaseEnded& ended) { append(ended); },
                        [&](const LifeEnded& ended) { append(ended); },
                        [&](const GiveUp& given_up) { append(given_up); },
                        [](const Timeout&) {}},
             event);
}

void JobObserver::on(const AgentAction& action, Events& out) {
  std::visit(Overloaded{[](const BindStore&) {},
                        [](const CloseStore&) {},
                        [](const LookAtSnapshot&) {},
                        [&](const SpawnWorkers& spawn) {
                          generation_ = spawn.part.number;
                          first_rank_ = spawn.part.first_rank;
                          living_.clear();
                          out.emplace_back(GenerationStarted{spawn.part});
                        },
                        [](const SignalWorkers&) {},
                        [](const AskToSave&) {},
                        [&](const KillAll&) {
                          if (living_.empty()) return;  // it is for what workers have left
                          WorkersKilled killed;
                          for (const auto& [rank, pid] : living_) {
                            killed.workers.push_back({rank, pid});
                          }
                          out.emplace_back(std::move(killed));
                        },
                        [](const Suspend&) {},
                        [](const AskForSuspension&) {},
                        [](const NeedNoLease&) {},
                        [&](const TellCoordinator& tell) {
                          const auto* stuck = std::get_if<WorkersStuck>(&tell.news);
                          if (stuck != nullptr) out.emplace_back(*stuck);
                        },
                        [](const Note&) {},
                        [](const HurryEnd&) {},
                        [](const ExitWith&) {}},  // JobFinished follows
             action);
}

void JobObserver::on(const CoordinatorEvent& event, Events& out) {
  const auto append = [&](const auto& what) { out.emplace_back(what); };
  std::visit(Overloaded{[&](const Join& join) { append(join); },
                        [&](const NodeLost& lost) { append(lost); },
                        [&](const WorkerFailed& failed) { append(failed); },
                        [](const WorkerSucceeded&) {},  // its node has WorkerEnded
                        [&](const StoreUnreachable& unreachable) { append(unreachable); },
                        [](const WorkersStuck&) {},  // its node has it, too
                        [&](const StopRequested& request) { append(request); },
                        [&](const LeaveRequested& request) { append(request); },
                        [&](const SaveReported& report) { append(report); },
                        [](const LeadKept&) {},
                        [&](const Decided& decided) {
                          generation_ = std::max(generation_, decided.number);
                        },
                        [](const MarkFound&) {},
                        [](const Timeout&) {}},
             event);
}

void JobObserver::on(const WorkersSpawned& started, Events& out) {
  for (const LivingWorker& worker : started.workers) living_[worker.local_rank] = worker.pid;
  out.emplace_back(started);
}

void JobObserver::on(Instant now,
                     const Standing& standing,
                     const std::string& waits_for,
                     Events& out) {
  const Standing before = std::exchange(standing_, standing);
  if (standing.coordinates && !before.coordinates) out.emplace_back(CoordinationStarted{});
  if (!standing.coordinates && before.coordinates) out.emplace_back(CoordinationEnded{});
  if (standing.waits == before.waits) return;
  if (before.waits != Wait::nothing) out.emplace_back(WaitEnded{now - waits_since_});
  waits_since_ = now;
  if (standing.waits != Wait::nothing) out.emplace_back(WaitBegan{standing.waits, waits_for});
}

}  // namespace ddprun
