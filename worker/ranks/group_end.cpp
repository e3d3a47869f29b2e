#include "worker/ranks/group_end.hpp"

#include "worker/torch_compat.hpp"

#include <atomic>
#include <exception>
#include <iostream>
#include <mutex>
#include <utility>

namespace ddprun::worker {
namespace {

std::atomic<bool> are_kept = false;
std::atomic<int> living_count = 0;

/// Where the newest group met that was left behind.
struct NewestKept {
  std::mutex mutex;
  std::optional<MeetingPlace> place;
};

NewestKept& newest_kept() {
  static NewestKept one;
  return one;
}

}  // namespace

GroupEnd::GroupEnd(c10::intrusive_ptr<c10d::ProcessGroup> group, MeetingPlace place)
    : group_(std::move(group)),
      place_(std::move(place)),
      exceptions_count_(std::uncaught_exceptions()) {
  ++living_count;
}

GroupEnd::~GroupEnd() {
  --living_count;
  const bool is_abandoned = std::uncaught_exceptions() > exceptions_count_;
  if (is_abandoned && are_kept) {
    const std::lock_guard lock(newest_kept().mutex);
    newest_kept().place = std::move(place_);
    static_cast<void>(group_.release());  // not to be destroyed
    return;
  }
  const char* const what = "the ranks' connections did not end well: ";
  try {
    compat::end_process_group(group_, !is_abandoned);
  } catch (const c10::Error& error) {
    std::cerr << what << error.what_without_backtrace() << '\n';
  } catch (const std::exception& error) {
    std::cerr << what << error.what() << '\n';
  }
}

AbandonedGroups::AbandonedGroups() {
  are_kept = true;
}

AbandonedGroups::~AbandonedGroups() {
  are_kept = false;
}

std::optional<MeetingPlace> AbandonedGroups::newest() {
  const std::lock_guard lock(newest_kept().mutex);
  return newest_kept().place;
}

bool AbandonedGroups::others_live() {
  return living_count > 0;
}

}  // namespace ddprun::worker
