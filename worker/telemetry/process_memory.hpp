// How much memory this process has had at most.
#pragma once

#include <cstdint>
#include <optional>

namespace ddprun::worker {

/// In bytes, the most resident memory of this process since its start or the last
/// forget_peak_memory(): VmHWM of /proc/self/status, with the pages of libraries and of shared
/// memory. Nothing if the kernel does not tell it.
[[nodiscard]] std::optional<std::int64_t> peak_memory_bytes();

/// The kernel counts anew, for all who read VmHWM: clear_refs of proc(5), value 5. Without it, as
/// in some containers, the peak remains that since the start.
void forget_peak_memory();

}  // namespace ddprun::worker
