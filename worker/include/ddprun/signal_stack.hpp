// A stack of its own for signal handlers. Otherwise the kernel writes the handler's frame below the
// stack pointer, which generated code may have pointed anywhere: oneDNN up to 3.11.1 points it into
// the heap while it multiplies matrices, and a handled signal
// then overwrites the heap (github.com/uxlfoundation/oneDNN, issue 4845).
#pragma once

#include <csignal>
#include <cstddef>
#include <memory>

namespace ddprun::worker {

/// While alive, handlers with SA_ONSTACK run on a stack of this object when a signal reaches the
/// thread that made it. Made and destroyed in one thread, which keeps a stack that it has already.
class SignalStack {
 public:
  SignalStack() {
    stack_t now{};
    static_cast<void>(::sigaltstack(nullptr, &now));
    if ((now.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique_for_overwrite<char[]>(size_bytes);
    stack_t own{};
    own.ss_sp = memory_.get();
    own.ss_size = size_bytes;
    static_cast<void>(::sigaltstack(&own, nullptr));
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack() {
    if (!memory_) return;
    stack_t now{};
    static_cast<void>(::sigaltstack(nullptr, &now));
    if (now.ss_sp != memory_.get()) {  // whoever has taken its place may put it back
      static_cast<void>(memory_.release());
      return;
    }
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    static_cast<void>(::sigaltstack(&none, nullptr));
  }

 private:
  static constexpr std::size_t size_bytes = 64 << 10;  // registers, AMX's included, take 11 KiB

  std::unique_ptr<char[]> memory_;  // null where the thread had a stack
};

}  // namespace ddprun::worker
