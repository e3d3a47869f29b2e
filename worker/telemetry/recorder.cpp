#include "worker/telemetry/recorder.hpp"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

namespace ddprun::worker {
namespace {

struct BeginTime : at::ObserverContext {
  std::int64_t ns = trace_now_ns();
};

std::unique_ptr<at::ObserverContext> begin_operator(const at::RecordFunction& /*function*/) {
  return std::make_unique<BeginTime>();
}

void end_operator(const at::RecordFunction& function, at::ObserverContext* begin) {
  Recorder::of_process().add({function.name(),
                              function.scope() == at::RecordScope::USER_SCOPE,
                              static_cast<BeginTime*>(begin)->ns,
                              trace_now_ns(),
                              this_thread(),
                              function.seqNr(),
                              function.forwardThreadId()});
}

template <typename Clock>
std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

Recorder& Recorder::of_process() {
  static Recorder recorder;
  return recorder;
}

bool Recorder::acquire() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(is_taken_, true);
}

void Recorder::release() {
  const std::lock_guard lock(mutex_);
  is_taken_ = false;
}

void Recorder::start(std::int64_t events_max) {
  {
    const std::lock_guard lock(mutex_);
    events_max_ = static_cast<std::size_t>(events_max);
    recording_ = {};
  }
  const at::CallbackHandle callback =
      at::addGlobalCallback(at::RecordFunctionCallback(begin_operator, end_operator)
                                .scopes({at::RecordScope::FUNCTION,
                                         at::RecordScope::BACKWARD_FUNCTION,
                                         at::RecordScope::USER_SCOPE}));
  const std::lock_guard lock(mutex_);
  callback_ = callback;
}

Recorder::Recording Recorder::stop() {
  std::unique_lock lock(mutex_);
  const auto callback = std::exchange(callback_, std::nullopt);
  Recording recording = std::exchange(recording_, {});
  lock.unlock();
  if (callback) at::removeCallback(*callback);
  return recording;
}

bool Recorder::has_events() {
  const std::lock_guard lock(mutex_);
  return !recording_.events.empty();
}

void Recorder::add(TraceEvent event) {
  const std::lock_guard lock(mutex_);
  if (!callback_) return;
  if (recording_.events.size() < events_max_) {
    recording_.events.push_back(std::move(event));
  } else {
    ++recording_.dropped_count;
  }
}

std::int64_t trace_now_ns() {
  static const std::int64_t offset_ns =
      now_ns<std::chrono::system_clock>() - now_ns<std::chrono::steady_clock>();
  return now_ns<std::chrono::steady_clock>() + offset_ns;
}

std::int64_t this_thread() {
  static thread_local const std::int64_t number = ::gettid();
  return number;
}

}  // namespace ddprun::worker
