// Whether memory ran out: how many processes the kernel has killed for that in a control group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ddprun {

/// The number in the line `oom_kill` of memory.events, or of memory.oom_control of version 1;
/// nothing without one. Pure.
[[nodiscard]] std::optional<std::int64_t> oom_kills_in(std::string_view text);

/// Of this process's group, since the group was made, those of groups below it included in version
/// 2. Nothing where that cannot be read. `root` is / but for tests.
[[nodiscard]] std::optional<std::int64_t> oom_kills(const std::string& root = "");

}  // namespace ddprun
