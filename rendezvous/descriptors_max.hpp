// How many descriptors this process may have open: what connections of strangers must leave to the
// job's own nodes and workers.
#pragma once

#include <sys/resource.h>

#include <cstddef>

namespace ddprun {

/// The soft limit of open files; `otherwise` if the system does not tell.
[[nodiscard]] inline std::size_t descriptors_max(std::size_t otherwise) {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : otherwise;
}

}  // namespace ddprun
