// What this node asks its workers over DDPRUN_CONTROL_FD, and what they tell; ddprun-protocol(7)
// describes the lines.
#pragma once

#include "launcher/progress/progress.hpp"
#include "launcher/workers/worker_group.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace ddprun {

class WorkerRequests {
 public:
  using Say = std::function<void(const std::string&)>;

  /// `workers` and `progress` must outlive it.
  WorkerRequests(WorkerGroup& workers, Progress& progress, Say say)
      : workers_(workers), progress_(progress), say_(std::move(say)) {}

  /// A program that begins anew, in the place of one that was asked to save, is asked, too.
  void hear(LocalRank local_rank, const ControlMessage& message);

  /// Asks all that can be asked to save and go on, since a user has sent that signal or, without
  /// one, since nodes have joined: only then Progress keeps what comes of it. Returns whether any
  /// can be asked.
  bool save(std::optional<int> signal);

  /// They get SIGTERM next: names a step after which all may end, once in a generation, if any has
  /// told steps.
  void stop();

 private:
  /// Those that were asked.
  std::set<LocalRank> ask_all(const ControlRequest& request);

  WorkerGroup& workers_;
  Progress& progress_;
  Say say_;
};

}  // namespace ddprun
