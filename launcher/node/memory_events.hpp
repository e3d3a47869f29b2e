// Whether memory ran out: how many processes the kernel has killed for that in a control group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ddprun {

/// Where a process's group counts them, by its /proc/PID/cgroup: memory.events of version 2, or
/// memory.oom_control where the memory controller is of version 1. Paths from /. Empty if the text
/// names no group. Pure.
[[nodiscard]] std::string oom_file(std::string_view cgroups);

/// The number in such a file's line `oom_kill`; nothing without one. Pure.
[[nodiscard]] std::optional<std::int64_t> oom_kills_in(std::string_view text);

/// Of this process's group, since the group was made, those of groups below it included in version
/// 2. Nothing where that cannot be read. `root` is / but for tests.
[[nodiscard]] std::optional<std::int64_t> oom_kills(const std::string& root = "");

}  // namespace ddprun
