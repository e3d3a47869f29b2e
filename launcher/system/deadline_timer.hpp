// The one timer of a machine: armed with its next deadline after each event.
#pragma once

#include "launcher/system/clock.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

namespace ddprun {

class DeadlineTimer {
 public:
  DeadlineTimer(boost::asio::io_context& context, std::function<void()> on_due)
      : timer_(context), on_due_(std::move(on_due)) {}

  /// From now on `on_due` is called at `deadline`, once, and at no earlier one.
  void arm(std::optional<Instant> deadline) {
    if (deadline == armed_) return;
    armed_ = deadline;
    timer_.cancel();
    if (!deadline) return;
    timer_.expires_after(std::chrono::milliseconds((*deadline - now()).count));
    timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      armed_.reset();
      on_due_();
    });
  }

 private:
  boost::asio::steady_timer timer_;
  std::function<void()> on_due_;
  std::optional<Instant> armed_;
};

}  // namespace ddprun
