// Tells guard and fence the deadline of this node's workers. A pure state machine.
//
// The guard kills workers whose lease has ended, since the agent may be stopped at any moment,
// even between the end of the lease and its own kill. So the agent sends no message at the end of
// a lease. It sends the first lease before the first worker starts, each later one, and the fact
// that no worker is left.
#pragma once

#include "launcher/guard/lease_watch.hpp"
#include "rendezvous/units.hpp"

#include <optional>

namespace ddprun {

class LeaseNotice {
 public:
  /// What is to be told, if anything.
  using Notice = std::optional<GuardedLease>;

  /// The lease has another end now; nothing: it is over, and its workers have to be killed.
  [[nodiscard]] Notice renew(std::optional<Instant> end);

  /// Before the first worker of a generation; when no process of the workers is left.
  [[nodiscard]] Notice workers_start();
  [[nodiscard]] Notice workers_are_gone();

  /// Of the newest lease, also if that is over. Nothing: workers here need none.
  [[nodiscard]] std::optional<Instant> end() const { return end_; }

 private:
  [[nodiscard]] Notice notice() const;

  bool workers_live_ = false;
  std::optional<Instant> end_;
};

}  // namespace ddprun
