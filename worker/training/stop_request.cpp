#include "ddprun/stop_request.hpp"

#include "ddprun/error.hpp"
#include "ddprun/run.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

std::atomic<bool> is_there_one{false};

// A handler can reach nothing else, and may run in any thread.
std::atomic<bool> sigterm_came{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// One SIGTERM is enough. While this handles it, Linux would deliver a second one to another
/// thread, which has no SignalStack.
extern "C" void note_sigterm(int /*signal*/) {
  sigterm_came = true;
  static_cast<void>(std::signal(SIGTERM, SIG_IGN));
}

}  // namespace

StopRequest::StopRequest(ProcessGroup group, Control* control)
    : group_(std::move(group)),
      control_(control),
      exceptions_count_(std::uncaught_exceptions()),
      counts_(torch::zeros({4}, torch::kLong)) {
  if (is_there_one.exchange(true)) {
    throw Error("this process has a StopRequest already; pass it on instead of making another");
  }
  sigterm_came = false;
  struct sigaction noting {};
  noting.sa_handler = note_sigterm;
  noting.sa_flags = SA_RESTART | SA_ONSTACK;
  static_cast<void>(::sigaction(SIGTERM, &noting, &former_));
}

StopRequest::~StopRequest() {
  static_cast<void>(::sigaction(SIGTERM, &former_, nullptr));
  is_there_one = false;
  const bool is_unwinding = std::uncaught_exceptions() > exceptions_count_;
  if (sigterm_came && !is_agreed_ && !is_unwinding) static_cast<void>(std::raise(SIGTERM));
}

bool StopRequest::agreed() {
  is_save_agreed_ = false;
  if (is_agreed_) return true;
  const bool is_alone = group_.size() == 1;
  if (is_alone) count_own();
  if (is_alone || answer_) hear();
  if (!is_alone && !is_agreed_) {
    count_own();
    std::vector<at::Tensor> tensors{counts_};
    answer_ = group_.native()->allreduce(tensors);
  }
  return is_agreed_;
}

void StopRequest::count_own() {
  auto* const sums = counts_.data_ptr<std::int64_t>();
  sums[0] = sigterm_came ? 1 : 0;
  sums[1] = ends_here() ? 1 : 0;
  sums[2] = control_ != nullptr && control_->save_asked() ? 1 : 0;
  sums[3] = asks_end_ ? 1 : 0;
}

/// After the step of the call that hears of it: with other ranks, the next one.
bool StopRequest::ends_here() const {
  if (control_ == nullptr) return false;
  const auto last_step = control_->stop_step();
  return last_step && control_->steps() + (group_.size() > 1 ? 1 : 0) >= *last_step;
}

void StopRequest::hear() {
  if (answer_) answer_->wait();
  const auto* const sums = counts_.data_ptr<std::int64_t>();
  is_agreed_ = sums[0] > 0 || sums[1] > 0;
  is_save_agreed_ = sums[2] > 0;
  is_end_agreed_ = sums[3] > 0;
  if (is_agreed_ && sums[0] == 0) by_ = "ddprun";
  // ddprun may have asked this rank, too, a little later than another one.
  if (is_save_agreed_ && control_ != nullptr) static_cast<void>(control_->save_asked());
}

void StopRequest::leave(const std::string& where) const {
  // Not the group's barrier: with GPUs it is NCCL's, and waits for all work queued on them.
  group_.all_reduce_sum(torch::zeros({1}, torch::kLong));
  throw Stopped(std::string("stopped by ") + by_ + " " + where);
}

}  // namespace ddprun::worker
