// Where the files of a process's control group are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ddprun {

/// Of one controller. The kernel names them so (cgroups(7)); in a container the path may be the
/// host's, while the group's files are mounted as the root.
struct ControlGroup {
  std::string mount;    ///< "/sys/fs/cgroup", of version 1 "/sys/fs/cgroup/memory".
  std::string path;     ///< Below it: "/job/step"; "/" is the root.
  bool is_old = false;  ///< Of version 1.
};

/// That of `controller` by a process's /proc/PID/cgroup: of version 1 where the controller is of
/// that. Nothing if the text names none. Pure.
[[nodiscard]] std::optional<ControlGroup> group_in(std::string_view cgroups,
                                                   std::string_view controller);

/// That of this process. `root` is / but for tests, and in front of no path in the result.
[[nodiscard]] std::optional<ControlGroup> own_group(const std::string& root,
                                                    std::string_view controller);

/// The text of a file of the kernel, which are short; empty if it cannot be read.
[[nodiscard]] std::string kernel_text(const std::string& path);

}  // namespace ddprun
