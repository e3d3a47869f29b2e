#include "launcher/guard/lease_notice.hpp"

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

void LeaseNotice::tell() const {
  if (end_) tell_({workers_live_, *end_});
}

}  // namespace ddprun
