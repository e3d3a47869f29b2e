#include "launcher/node/last_steps.hpp"

#include <csignal>
#include <utility>

namespace ddprun {

void LastSteps::on_event(const LastStepEvent& event, Actions& out) {
  if (step_ == Step::cut_short) return;
  std::visit([&](const auto& what) { on(what, out); }, event);
}

void LastSteps::on(const EndBegins& begins, Actions& out) {
  if (step_ != Step::none) return;
  outcome_ = begins.outcome;
  if (guard_lost_) return cut_short(begins.workers_left, out);
  step_ = Step::others;
  out.emplace_back(TellOthers{*outcome_});
}

void LastSteps::on(const OthersTold& told, Actions& out) {
  if (step_ != Step::others) return;
  coordinates_ = told.coordinates;
  step_ = Step::steps;
  out.emplace_back(EndSteps{});
}

void LastSteps::on(const StepsEnded&, Actions& out) {
  if (step_ != Step::steps) return;
  if (!coordinates_) return write_out(out);
  step_ = Step::queue;
  out.emplace_back(QueueAgain{*outcome_});
}

void LastSteps::on(const QueueAnswered& answered, Actions& out) {
  if (step_ != Step::queue) return;
  outcome_ = answered.outcome;
  write_out(out);
}

void LastSteps::on(const GuardDied& died, Actions& out) {
  guard_lost_ = true;
  if (step_ != Step::none) cut_short(died.workers_left, out);
}

void LastSteps::on(const HurryEnd& hurry, Actions& out) {
  if (step_ == Step::none) return;
  const bool may_be_slurms = in_slurm_job_ && hurry.signal != SIGINT;
  if (may_be_slurms && step_ != Step::output) return;
  record(out);
  out.emplace_back(EndSoon{});
}

void LastSteps::write_out(Actions& out) {
  step_ = Step::output;
  record(out);
  out.emplace_back(WriteOut{});
}

void LastSteps::cut_short(bool workers_left, Actions& out) {
  step_ = Step::cut_short;
  record(out);
  if (!workers_left) out.emplace_back(DeliverWill{});
  out.emplace_back(EndWithFiles{});
}

/// Once: whoever hurries does it before the outcome is final.
void LastSteps::record(Actions& out) {
  if (!std::exchange(is_recorded_, true)) out.emplace_back(RecordEnd{*outcome_});
}

}  // namespace ddprun
