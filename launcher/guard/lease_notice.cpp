#include "launcher/guard/lease_notice.hpp"

namespace ddprun {

LeaseNotice::Notice LeaseNotice::renew(std::optional<Instant> end) {
  if (!end) return {};
  end_ = end;
  return workers_live_ ? notice() : Notice();
}

LeaseNotice::Notice LeaseNotice::workers_start() {
  workers_live_ = true;
  return notice();
}

LeaseNotice::Notice LeaseNotice::workers_are_gone() {
  if (!workers_live_) return {};
  workers_live_ = false;
  return notice();
}

LeaseNotice::Notice LeaseNotice::notice() const {
  return end_ ? Notice({workers_live_, *end_}) : Notice();
}

}  // namespace ddprun
