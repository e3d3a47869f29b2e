#include "launcher/guard/lease_notice.hpp"

#include "launcher/guard/guard_message.hpp"

namespace ddprun {

void LeaseNotice::renew(std::optional<Instant> end) {
  if (!end) return;
  end_ = end;
  if (workers_live_) tell();
}

void LeaseNotice::workers_start() {
  workers_live_ = true;
  tell();
}

void LeaseNotice::workers_are_gone() {
  if (!workers_live_) return;
  workers_live_ = false;
  tell();
}

/// Without waiting. A guard that was stopped for minutes has not read the newest lease, and may
/// kill when it resumes.
void LeaseNotice::tell() const {
  if (!end_) return;
  const GuardedLease lease{workers_live_, *end_};
  for (const int socket : sockets_) {
    if (socket >= 0) send(socket, lease);
  }
}

}  // namespace ddprun
