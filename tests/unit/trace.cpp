#include "tests/unit/trace.hpp"

#include "rendezvous/overloaded.hpp"

#include <fmt/format.h>

#include <variant>

namespace ddprun {

std::string text_of(Millis time) {
  return fmt::format("{}.{:03} s", time.count / 1000, time.count % 1000);
}

std::string text_of(const Part& part) {
  return fmt::format(
      "generation {} ({}, {} before it): node {} of {}, ranks {}+{} of {}, store {}:{}",
      part.number.value,
      part.cause,
      part.restart_count,
      part.group_rank,
      part.group_world_size,
      part.first_rank.value,
      part.worker_count,
      part.world_size,
      part.master_address,
      part.master_port);
}

std::string text_of(const Outcome& outcome) {
  return fmt::format("status {}: {}{}",
                     outcome.exit_status,
                     outcome.text,
                     outcome.failure ? fmt::format(" [rank {}]", outcome.failure->rank.value) : "");
}

std::string text_of(const CoordinatorEvent& event) {
  return std::visit(
      Overloaded{
          [](const Join& join) {
            const std::string snapshot = join.snapshot ? fmt::format(", sees snapshot {}.{}",
                                                                     join.snapshot->generation,
                                                                     join.snapshot->step)
                                                       : std::string();
            return fmt::format(
                "join of node {} {} {}:{} with {} workers, done with generation {}{}",
                join.offer.node.value,
                join.offer.host,
                join.offer.address,
                join.offer.store_port,
                join.offer.worker_count,
                join.done_with.value,
                snapshot);
          },
          [](const NodeLost& lost) {
            return fmt::format("node {} is lost: {}", lost.node.value, lost.why);
          },
          [](const WorkerFailed& failed) {
            return fmt::format(
                "in generation {} {}", failed.generation.value, describe(failed.failure));
          },
          [](const WorkerSucceeded& succeeded) {
            return fmt::format("in generation {} rank {} succeeded",
                               succeeded.generation.value,
                               succeeded.rank.value);
          },
          [](const StoreUnreachable& unreachable) {
            return fmt::format("in generation {} node {} cannot reach the store: {}",
                               unreachable.generation.value,
                               unreachable.node.value,
                               unreachable.why);
          },
          [](const WorkersStuck& stuck) {
            return fmt::format("node {} is stuck with generation {}: {}",
                               stuck.node.value,
                               stuck.generation.value,
                               stuck.text);
          },
          [](const StopRequested& request) {
            return request.time_is_up ? "stop before the time limit"
                                      : "stop by " + signal_name(request.signal);
          },
          [](const LeaveRequested& request) {
            return fmt::format("node {} leaves by {}{}",
                               request.node.value,
                               signal_name(request.signal),
                               request.may_be_for_all ? ", unless all do" : "");
          },
          [](const SaveReported& report) {
            return fmt::format(
                "in generation {} node {} {}",
                report.generation.value,
                report.node.value,
                report.step ? fmt::format("has saved step {}", *report.step) : "cannot save");
          },
          [](const Decided& decided) {
            return fmt::format("generation {} is decided", decided.number.value);
          },
          [](const MarkFound& found) { return "a mark on " + found.where; },
          [](const LeadKept&) { return std::string("the lead is kept"); },
          [](const Timeout&) { return std::string("timeout"); },
      },
      event);
}

std::string text_of(const CoordinatorAction& action) {
  return std::visit(
      Overloaded{
          [](const StartGeneration& start) {
            return fmt::format("node {} starts {}", start.node.value, text_of(start.part));
          },
          [](const StopGeneration& stop) {
            return fmt::format("node {} stops generation {} by {}, grace {}{}",
                               stop.node.value,
                               stop.generation.value,
                               signal_name(stop.signal),
                               text_of(stop.grace),
                               stop.why.empty() ? "" : ": " + stop.why);
          },
          [](const SaveGeneration& save) {
            return fmt::format(
                "node {} saves in generation {}", save.node.value, save.generation.value);
          },
          [](const FinishJob& finish) {
            return fmt::format("node {} finishes, {}", finish.node.value, text_of(finish.outcome));
          },
          [](const Note& note) { return "note: " + note.text; },
          [](const Propose& propose) {
            return fmt::format("generation {} is proposed", propose.record.number.value);
          },
          [](const HandOver&) { return std::string("hand over"); },
      },
      action);
}

std::string text_of(const AgentAction& action) {
  return std::visit(
      Overloaded{
          [](const BindStore&) { return std::string("bind a store"); },
          [](const CloseStore&) { return std::string("close the store"); },
          [](const LookAtSnapshot&) { return std::string("look at the snapshot"); },
          [](const SpawnWorkers& spawn) { return "spawn " + text_of(spawn.part); },
          [](const AskToSave& ask) {
            return ask.signal ? "ask to save by " + signal_name(*ask.signal) : "ask to save";
          },
          [](const SignalWorkers& signal) { return "signal " + signal_name(signal.signal); },
          [](const KillAll&) { return std::string("kill all"); },
          [](const Suspend&) { return std::string("suspend"); },
          [](const AskForSuspension&) { return std::string("ask for suspension"); },
          [](const NeedNoLease&) { return std::string("need no lease"); },
          [](const TellCoordinator& tell) { return "tell: " + text_of(event_of(tell.news)); },
          [](const Note& note) { return "note: " + note.text; },
          [](const HurryEnd& hurry) { return "hurry by " + signal_name(hurry.signal); },
          [](const ExitWith& exit) { return "exit with " + text_of(exit.outcome); },
      },
      action);
}

}  // namespace ddprun
