#include "launcher/node/last_output.hpp"

#include <chrono>
#include <cstdlib>
#include <utility>

namespace ddprun {

void LastOutput::write_out(std::function<void()> report) {
  writer_.when_drained([this, report = std::move(report)] {
    report();
    writer_.when_drained([this] { context_.stop(); });
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
