// How much time of the cores the control groups of this process leave it: a container that may use
// two cores' time, as by docker's --cpus=2, may still run on all cores of its host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ddprun {

/// The whole cores in `quota` of each `period`, both as the kernel writes them; at least 1, as
/// some core has to be used. Nothing without a limit, for which the quota is "max" or "-1". Pure.
[[nodiscard]] std::optional<int> cores_of_quota(std::string_view quota, std::string_view period);

/// The least that the process's group or one around it leaves, as far as they can be seen; nothing
/// without a limit. `root` is / but for tests.
[[nodiscard]] std::optional<int> cores_of_own_quota(const std::string& root = "");

}  // namespace ddprun
