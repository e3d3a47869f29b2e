#include "launcher/progress/step_line.hpp"

namespace ddprun {

void StepLine::on_event(Instant now, const ProgressEvent& event, std::vector<ProgressAction>& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

void StepLine::on(Instant now, const StepsTold&, Actions& out) {
  if (shown_at_ && now < *shown_at_ + pause) {
    show_at_ = *shown_at_ + pause;
  } else {
    show(now, out);
  }
}

void StepLine::on(Instant, const StepsOver&, Actions& out) {
  if (shown_at_) out.emplace_back(HideSteps{});
  shown_at_.reset();
  show_at_.reset();
}

void StepLine::on(Instant now, const Timeout&, Actions& out) {
  if (show_at_ && now >= *show_at_) show(now, out);
}

void StepLine::show(Instant now, Actions& out) {
  out.emplace_back(ShowSteps{});
  shown_at_ = now;
  show_at_.reset();
}

}  // namespace ddprun
