// How the connections of a process group end.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <optional>

namespace ddprun::worker {

/// Where the ranks of a group have met, and which of them this one is.
struct MeetingPlace {
  c10::intrusive_ptr<c10d::Store> store;
  int rank;
};

/// Ends the group when it goes: in order, unless an exception has come since it was made.
class GroupEnd {
 public:
  GroupEnd(c10::intrusive_ptr<c10d::ProcessGroup> group, MeetingPlace place);
  GroupEnd(const GroupEnd&) = delete;
  GroupEnd& operator=(const GroupEnd&) = delete;
  ~GroupEnd();

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  MeetingPlace place_;
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

  /// Where the newest one has met. If there is any, LibTorch's threads still use it, so the process
  /// must end by std::_Exit().
  [[nodiscard]] static std::optional<MeetingPlace> newest();
  /// Whether other groups live, as in a static object.
  [[nodiscard]] static bool others_live();
};

}  // namespace ddprun::worker
