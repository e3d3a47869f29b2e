// All descendants of a process, however they detached themselves.
//
// A subreaper inherits every orphan below it, so that killing its children again and again until
// none is left gets them all, setsid and double forks included (prctl(2), PR_SET_CHILD_SUBREAPER).
#pragma once

#include "rendezvous/units.hpp"

#include <vector>

namespace ddprun {

/// The children of `pid`, those of its threads included; empty if it does not exist.
[[nodiscard]] std::vector<int> children_of(int pid);

/// Whether /proc tells of this process's children: it may not be mounted, lack the list, or be that
/// of another PID namespace, where the same numbers are other processes.
[[nodiscard]] bool children_are_visible();

/// SIGKILL to the whole tree below `pid`, `pid` itself excluded. Each process is stopped before its
/// children are looked for, so that none forks away meanwhile.
void kill_below(int pid);

/// In a subreaper that has SIGCHLD blocked: kills and reaps all descendants. Returns whether none
/// is left; if not, the rest is stuck inside the kernel and `patience` is over.
[[nodiscard]] bool kill_and_reap_all(Millis patience);

}  // namespace ddprun
