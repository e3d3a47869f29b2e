// How the connections of a process group end.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace ddprun::worker {

/// Ends the group when it goes: in order, unless an exception has come since it was made.
class GroupEnd {
 public:
  explicit GroupEnd(c10::intrusive_ptr<c10d::ProcessGroup> group);
  GroupEnd(const GroupEnd&) = delete;
  GroupEnd& operator=(const GroupEnd&) = delete;
  ~GroupEnd();

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  int exceptions_count_;
};

/// While it lives, groups that an exception leaves behind stay connected, until the process ends:
/// to end one waits for its collectives under way, and tells the other ranks, which then fail
/// before this one has said why.
class AbandonedGroups {
 public:
  AbandonedGroups();
  AbandonedGroups(const AbandonedGroups&) = delete;
  AbandonedGroups& operator=(const AbandonedGroups&) = delete;
  ~AbandonedGroups();

  /// Whether there are any; LibTorch's threads still use them, so the process must end by
  /// std::_Exit().
  [[nodiscard]] static bool has_any();
  /// Whether other groups live, as in a static object.
  [[nodiscard]] static bool others_live();
};

}  // namespace ddprun::worker
