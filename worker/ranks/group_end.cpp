#include "worker/ranks/group_end.hpp"

#include "worker/torch_compat.hpp"

#include <atomic>
#include <exception>
#include <iostream>
#include <utility>

namespace ddprun::worker {
namespace {

std::atomic<bool> are_kept = false;
std::atomic<bool> is_one_kept = false;
std::atomic<int> living_count = 0;

}  // namespace

GroupEnd::GroupEnd(c10::intrusive_ptr<c10d::ProcessGroup> group)
    : group_(std::move(group)), exceptions_count_(std::uncaught_exceptions()) {
  ++living_count;
}

GroupEnd::~GroupEnd() {
  --living_count;
  const bool is_abandoned = std::uncaught_exceptions() > exceptions_count_;
  if (is_abandoned && are_kept) {
    is_one_kept = true;
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

bool AbandonedGroups::has_any() {
  return is_one_kept;
}

bool AbandonedGroups::others_live() {
  return living_count > 0;
}

}  // namespace ddprun::worker
