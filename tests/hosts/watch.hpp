// Checks from outside ddprun that workers of two generations never live at once, on all hosts of a
// test. It uses nothing that ddprun says.
//
// Each worker reports its birth when its own program begins to run, and passes a descriptor of its
// process. The kernel makes that readable when the process ends, whatever ended it: SIGKILL, or a
// host that lost power. A stopped process is alive, and so is one that SIGKILL has not ended yet.
//
// The thread of the watch may run late, so the time at which it sees a death is an upper bound.
// Whether one worker was alive at another's birth is exact all the same: each holds a lock while it
// lives, and looks at the others' locks once it has its own. Of two that live at once, one sees the
// other, however short the overlap is.
//
// Not seen: a worker that dies before its report, which has done nothing else by then; and a
// worker's children after its death.
#pragma once

#include "rendezvous/fd.hpp"
#include "tests/hosts/lives.hpp"

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hosts {

class Watch {
 public:
  /// `folder`: the test's, in which its workers run.
  explicit Watch(const std::filesystem::path& folder);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// All workers so far, in the order of their births.
  [[nodiscard]] std::vector<Life> lives();
  /// Each names two workers. An overlap is returned once.
  [[nodiscard]] std::vector<std::string> take_overlaps();

 private:
  void run();
  void look();
  bool take_birth();

  const Nanoseconds begun_;
  ddprun::Fd socket_;
  ddprun::Fd stop_;
  ddprun::Fd events_;
  std::mutex mutex_;  // of all below
  Lives lives_;
  std::map<Nanoseconds, ddprun::Fd> processes_;  // by birth; of those that are not seen dead
  std::string failure_;                          // why it sees nothing more
  std::thread thread_;                           // last: it uses all above
};

}  // namespace hosts
