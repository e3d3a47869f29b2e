// The only caller of waitid in the agent: every child that ends, in the order in which they ended.
#pragma once

#include "rendezvous/fd.hpp"
#include "rendezvous/worker_end.hpp"

#include <map>
#include <vector>

namespace ddprun {

struct EndedChild {
  int pid = 0;
  WorkerEnd end;
  bool dumped_core = false;
};

class Reaper {
 public:
  Reaper();

  /// Lets `reap` tell when this child ended relative to other watched ones. Without pidfds (Linux
  /// before 5.3) children that end between two calls come in the order of their start.
  void watch(int pid);

  /// Reaps all children that have ended, orphans that this subreaper inherited included.
  [[nodiscard]] std::vector<EndedChild> reap();

  /// After `reap`: whether no child is left, ended or living.
  [[nodiscard]] bool none_left() const { return none_left_; }

 private:
  void unwatch(int pid);

  Fd order_;  // an epoll instance: its ready list keeps the order in which pidfds became ready
  std::map<int, Fd> watched_;  // pidfds, by pid
  bool none_left_ = true;
};

}  // namespace ddprun
