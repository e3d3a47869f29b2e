#include "launcher/node/last_output.hpp"

#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace ddprun {

void LastOutput::write_out(std::function<void()> report) {
  writers_.files.when_drained([this, report = std::move(report)] {
    watch_terminal();
    writers_.console.when_drained([this, report] {
      report();
      writers_.console.when_drained([this] { wait_for_events(); });
    });
  });
}

void LastOutput::watch_terminal() {
  stuck_.expires_after(Writer::terminal_patience);
  stuck_.async_wait([this, before = writers_.console.progress()](boost::system::error_code error) {
    if (error) return;
    const bool waits = writers_.console.progress() == before;
    if (waits && ::isatty(writers_.console.writes_to()) == 1) exit_now();
    watch_terminal();
  });
}

/// The console has been written by now.
void LastOutput::wait_for_events() {
  if (events_ == nullptr) return context_.stop();
  events_->when_drained([this] { context_.stop(); });
  stuck_.expires_after(events_patience);
  stuck_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    on_late_();
    watch_terminal();
    writers_.console.when_drained([this] { exit_now(); });
  });
}

void LastOutput::exit_with_files() {
  exit_soon();
  writers_.files.when_drained([this] {
    if (events_ == nullptr) exit_now();
    events_->when_drained([this] { exit_now(); });
  });
}

void LastOutput::exit_now() const {
  std::_Exit(*status_);
}

void LastOutput::exit_soon() {
  constexpr std::chrono::milliseconds moment{200};
  if (exits_soon_) return;  // repeated requests must not delay the end
  exits_soon_ = true;
  timer_.expires_after(moment);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) exit_now();
  });
}

}  // namespace ddprun
