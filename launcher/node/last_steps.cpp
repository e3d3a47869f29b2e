#include "launcher/node/last_steps.hpp"

#include <csignal>
#include <utility>

namespace ddprun {

void LastSteps::on_event(const LastStepEvent& event, Actions& out) {
  if (step_ == Step::cut_short) return;
  std::visit([&](const auto& what) { on(what, out); }, event);
}

void LastSteps::on(const EndBegins& begins, Actions& out) {
  outcome_ = begins.outcome;
  workers_left_ = begins.workers_left;
  if (guard_lost_) return cut_short(out);
  step_ = Step::others;
  out.emplace_back(TellOthers{begins.outcome});
}

void LastSteps::on(const OthersTold&, Actions& out) {
  if (step_ != Step::others) return;
  step_ = Step::steps;
  out.emplace_back(EndSteps{});
}

void LastSteps::on(const StepsEnded& ended, Actions& out) {
  if (step_ != Step::steps) return;
  if (!ended.coordinates) return write_out(out);
  step_ = Step::queue;
  out.emplace_back(QueueAgain{*outcome_});
}

void LastSteps::on(const QueueAnswered& answered, Actions& out) {
  if (step_ != Step::queue) return;
  outcome_ = answered.outcome;
  write_out(out);
}

void LastSteps::on(const GuardLost&, Actions& out) {
  guard_lost_ = true;
  if (step_ != Step::none) cut_short(out);
}

/// Slurm sends other signals than SIGINT while it queues the job again, and that is waited for.
void LastSteps::on(const SignalArrived& arrived, Actions& out) {
  if (step_ == Step::none || (step_ == Step::queue && arrived.signal != SIGINT)) return;
  record(out);
  out.emplace_back(EndSoon{});
}

void LastSteps::write_out(Actions& out) {
  step_ = Step::output;
  record(out);
  out.emplace_back(WriteOut{});
}

void LastSteps::cut_short(Actions& out) {
  step_ = Step::cut_short;
  record(out);
  if (!workers_left_) out.emplace_back(DeliverWill{});
  out.emplace_back(EndWithFiles{});
}

/// Once: whoever hurries does it before the outcome is final.
void LastSteps::record(Actions& out) {
  if (!std::exchange(is_recorded_, true)) out.emplace_back(RecordEnd{*outcome_});
}

}  // namespace ddprun
