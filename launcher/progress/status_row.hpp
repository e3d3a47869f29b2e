// The status row of a terminal: what is waited for, else how far the workers are. It decides which
// of both is shown, and keeps the time of the latter.
#pragma once

#include "launcher/progress/progress.hpp"
#include "launcher/progress/step_line.hpp"
#include "launcher/system/machine_loop.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <string>

namespace ddprun {

class StatusRow {
 public:
  using Redraw = std::function<void(const std::string& text)>;  ///< Empty: no row.

  /// Null: there is no such terminal. `progress` outlives this.
  StatusRow(boost::asio::io_context& context, const Progress& progress, Redraw redraw);

  [[nodiscard]] bool is_there() const { return redraw_ != nullptr; }

  /// Of a wait; empty: nothing is waited for.
  void show_wait(const std::string& text);
  /// A worker has told something that `progress` has now.
  void steps_told() { tell(StepsTold{}); }
  /// No worker is left.
  void steps_over() { tell(StepsOver{}); }

 private:
  void tell(const ProgressEvent& event);
  void perform(const ShowSteps&);
  void perform(const HideSteps&);
  void redraw() const;

  const Progress& progress_;
  Redraw redraw_;
  MachineLoop<StepLine, ProgressEvent, ProgressAction> lines_;
  std::string wait_;
  std::string steps_;
};

}  // namespace ddprun
