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

StopRequest::StopRequest(ProcessGroup group)
    : group_(std::move(group)),
      exceptions_count_(std::uncaught_exceptions()),
      askers_count_(torch::zeros({1}, torch::kLong)) {
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
  if (is_agreed_) return true;
  if (group_.size() == 1) return is_agreed_ = sigterm_came;
  if (answer_) {
    answer_->wait();
    is_agreed_ = askers_count_.item<std::int64_t>() > 0;
  }
  if (!is_agreed_) ask();
  return is_agreed_;
}

void StopRequest::ask() {
  askers_count_.fill_(sigterm_came ? 1 : 0);
  std::vector<at::Tensor> tensors{askers_count_};
  answer_ = group_.native()->allreduce(tensors);
}

void StopRequest::leave(const std::string& where) const {
  // Not the group's barrier: with GPUs it is NCCL's, and waits for all work queued on them.
  group_.all_reduce_sum(torch::zeros({1}, torch::kLong));
  throw Stopped("stopped by SIGTERM " + where);
}

}  // namespace ddprun::worker
