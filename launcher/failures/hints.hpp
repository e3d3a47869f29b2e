// What people can do about a worker's failure, by how it ended and what it printed. Pure.
#pragma once

#include "rendezvous/worker_end.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace ddprun {

/// Each function returns one line without an end, or nothing if there is no advice.

[[nodiscard]] std::string hint_for(const WorkerEnd& end);

/// By `kills`, the processes of the group that the kernel has killed. Any of them, such as one that
/// loads data for the worker.
[[nodiscard]] std::string hint_for_memory(std::int64_t kills);

/// By the last of the known errors of PyTorch and NCCL among `lines`.
[[nodiscard]] std::string hint_for_output(const std::deque<std::string>& lines);

/// Where the core is that the worker has left, by the kernel's core_pattern (core(5)).
[[nodiscard]] std::string hint_for_core(std::string_view pattern);

/// By a line of NVIDIA's driver about an error ("Xid").
[[nodiscard]] std::string hint_for_driver(std::string_view line);

}  // namespace ddprun
