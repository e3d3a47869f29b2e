// How a job that is to go on later is stopped: by which signals, and how long before the batch
// system would end it. Pure.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/units.hpp"

#include <csignal>
#include <optional>
#include <set>

namespace ddprun {

/// Whether such a signal is passed on to workers, unless the options say otherwise.
[[nodiscard]] constexpr bool is_for_workers(int signal) {
  return signal == SIGUSR1 || signal == SIGUSR2;
}

struct StopOptions {
  Millis grace;                                        ///< For an end after which nothing goes on.
  std::optional<Millis> before_end = Millis{120'000};  ///< Nothing: the batch system ends the job.
  std::set<int> saving_signals;                        ///< By which the end is asked for like that.
  /// USR1 and USR2, if they stop the job as TERM does.
  std::set<int> stopping_signals;
  std::set<int> snapshot_signals;  ///< By which workers are asked for a snapshot, and go on.
  std::set<int> leaving_signals;   ///< By which a node leaves a job that can go on without it.
  /// By which it leaves so unless the other nodes get them as well.
  std::set<int> evicting_signals{SIGTERM};
  int requeues_max = 0;  ///< How often the job may have been put back into the queue.

  /// What workers have for saving: all but the last seconds before the end, in which the job may
  /// still be queued again; no less than the usual grace.
  [[nodiscard]] Millis save_grace() const;
};

/// From --grace, --shutdown-timeout, --stop-before-end, --on-signal, --signals-to-handle and
/// --requeue.
[[nodiscard]] Result<StopOptions> read_stop_options(const Settings& all);

}  // namespace ddprun
