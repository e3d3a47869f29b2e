#include "launcher/progress/status_row.hpp"

#include <utility>
#include <variant>

namespace ddprun {

StatusRow::StatusRow(boost::asio::io_context& context, const Progress& progress, Redraw redraw)
    : progress_(progress),
      redraw_(std::move(redraw)),
      lines_(context, StepLine(), [this](const ProgressAction& action) {
        std::visit([this](const auto& what) { perform(what); }, action);
      }) {}

void StatusRow::show_wait(const std::string& text) {
  wait_ = text;
  redraw();
}

void StatusRow::tell(const ProgressEvent& event) {
  if (is_there()) lines_.tell(event);
}

void StatusRow::perform(const ShowSteps&) {
  steps_ = progress_text(progress_);
  if (wait_.empty()) redraw();
}

void StatusRow::perform(const HideSteps&) {
  steps_.clear();
  if (wait_.empty()) redraw();
}

void StatusRow::redraw() const {
  const std::string& text = wait_.empty() ? steps_ : wait_;
  redraw_(text.empty() ? text : "ddprun: " + text);
}

}  // namespace ddprun
