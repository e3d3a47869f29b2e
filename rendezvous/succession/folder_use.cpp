#include "rendezvous/succession/folder_use.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

bool FolderUse::begin_look(Instant again) {
  look_at_ = again;
  return !std::exchange(looks_, true);
}

void FolderUse::saw(std::int64_t place) {
  newest_ = place;
  may_be_linked_ = false;
}

void FolderUse::heard_of(std::int64_t place) {
  newest_ = std::max(newest_, place);
}

bool FolderUse::begin_claim() {
  return !std::exchange(claims_, true);
}

void FolderUse::end_claim(bool may_be_linked) {
  claims_ = false;
  may_be_linked_ = may_be_linked_ || may_be_linked;
}

void FolderUse::claimed() {
  fails_since_.reset();
  forget_passes();
  may_be_linked_ = false;
}

Millis FolderUse::failed(Instant now, Instant again) {
  if (!fails_since_) fails_since_ = now;
  claim_after_ = again;
  return now - *fails_since_;
}

void FolderUse::give_up_claim(std::int64_t place) {
  if (may_be_linked_) newest_ = place;
  fails_since_.reset();
}

void FolderUse::forget_claims() {
  newest_ = 0;
  may_be_linked_ = false;
}

}  // namespace ddprun
