#include "launcher/node/wait_lines.hpp"

#include <algorithm>

namespace ddprun {

void WaitLines::on_event(Instant now, const WaitEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

void WaitLines::on(Instant now, const Waits& waits, Actions& out) {
  if (waits == waits_) return;
  if (waits.what == Wait::nothing) {
    if (said_at_) out.emplace_back(EndWait{});
    say_at_.reset();
    said_at_.reset();
  } else if (waits_.what == Wait::nothing) {
    since_ = now;
    pause_ = options_.pause;
    say_at_ = now + options_.first;
  } else if (said_at_) {
    say_at_ = std::max(now, *said_at_ + options_.between);
  }
  waits_ = waits;
}

void WaitLines::on(Instant now, const Timeout&, Actions& out) {
  if (!say_at_ || now < *say_at_) return;
  out.emplace_back(SayWait{now - since_});
  said_at_ = now;
  say_at_ = now + pause_;
  pause_ = std::min(pause_ * 2, options_.pause_max);
}

}  // namespace ddprun
