// What the coordinator is told, and what it answers.
#pragma once

#include "rendezvous/generations/generation.hpp"
#include "rendezvous/machine_events.hpp"
#include "rendezvous/outcome.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/worker_end.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>

namespace ddprun {

/// A node is ready for the next generation; nothing of `done_with` or an older one lives on it.
struct Join {
  Offer offer;
  GenerationNumber done_with;
  std::optional<SnapshotPosition> snapshot;  ///< The newest one it sees; nothing: it cannot tell.
  friend bool operator==(const Join&, const Join&) = default;
};
/// No worker is left on that node, and no event comes from it until it joins again.
struct NodeLost {
  NodeId node;
  std::string why;  ///< "silent for 4 s"
  bool witness = false;
};
struct WorkerFailed {
  GenerationNumber generation;
  WorkerFailure failure;
  friend bool operator==(const WorkerFailed&, const WorkerFailed&) = default;
};
struct WorkerSucceeded {
  GenerationNumber generation;
  Rank rank;
  friend bool operator==(const WorkerSucceeded&, const WorkerSucceeded&) = default;
};
/// A member cannot use the generation's store, and so its workers cannot meet the others.
struct StoreUnreachable {
  NodeId node;  ///< The node that reports it, as the roster knows it.
  GenerationNumber generation;
  std::string why;  ///< "Connection timed out"
  friend bool operator==(const StoreUnreachable&, const StoreUnreachable&) = default;
};
/// Processes of a node survived SIGKILL: they execute nothing any more, but cannot leave
/// the kernel. The coordinator does not wait; the node joins once they are gone.
struct WorkersStuck {
  NodeId node;
  GenerationNumber generation;
  std::string text;  ///< Which, where, and for how long.
  friend bool operator==(const WorkersStuck&, const WorkersStuck&) = default;
};
/// The job is to end. A second request while it ends skips the grace; but what same_request.hpp
/// calls the same request does not, of SIGINT only that of another node. If the first
/// request was to save, a second one except SIGINT still leaves workers `grace`; repeating the
/// request to save changes nothing.
struct StopRequested {
  int signal = 0;           ///< That was sent; 0: none was, since `time_is_up`.
  bool time_is_up = false;  ///< The batch system will soon end the job.
  NodeId node = {};         ///< Whose agent says so, by the roster.
  friend bool operator==(const StopRequested&, const StopRequested&) = default;
};
/// Whether the job is to go on later after such an end, and its outcome.
[[nodiscard]] bool saves(const StopRequested& request, const std::set<int>& saving_signals);
[[nodiscard]] Outcome outcome_of(const StopRequested& request, const std::set<int>& saving_signals);

/// A signal on that node asks for its end alone. Its workers and all others stop together, so that
/// they can save; then the others go on, if enough are left for that. If not, the job is to end as
/// by StopRequested.
struct LeaveRequested {
  NodeId node;
  int signal = 0;
  bool may_be_for_all = false;  ///< The others have `leave_wait` to ask for the same.
  bool with_lead = false;       ///< The coordinator is in that node's process, and ends with it.
  friend bool operator==(const LeaveRequested&, const LeaveRequested&) = default;
};
[[nodiscard]] Outcome outcome_of(const LeaveRequested& request);

/// The answer of a node to SaveGeneration.
struct SaveReported {
  NodeId node;
  GenerationNumber generation;
  std::optional<std::int64_t> step;  ///< Of the snapshot; nothing: no worker there can be asked.
  friend bool operator==(const SaveReported&, const SaveReported&) = default;
};

/// What happens on a node.
using News = std::variant<Join,
                          WorkerFailed,
                          WorkerSucceeded,
                          StopRequested,
                          WorkersStuck,
                          StoreUnreachable,
                          LeaveRequested,
                          SaveReported>;

/// The end of this node that `news` asks for, with the job's or without it; nothing if none.
[[nodiscard]] std::optional<StopRequested> end_asked_in(const News& news);

using CoordinatorEvent = std::variant<Join,
                                      NodeLost,
                                      WorkerFailed,
                                      WorkerSucceeded,
                                      StoreUnreachable,
                                      WorkersStuck,
                                      StopRequested,
                                      LeaveRequested,
                                      SaveReported,
                                      LeadKept,
                                      Decided,
                                      MarkFound,
                                      Timeout>;

/// As the coordinator is told it.
[[nodiscard]] inline CoordinatorEvent event_of(const News& news) {
  return std::visit([](const auto& what) { return CoordinatorEvent(what); }, news);
}

struct StartGeneration {
  NodeId node;
  Part part;
  friend bool operator==(const StartGeneration&, const StartGeneration&) = default;
};
/// Signal the workers, kill the remaining ones after the grace, then join. A newer Stop replaces
/// this one.
struct StopGeneration {
  NodeId node;
  GenerationNumber generation;
  int signal = 0;
  Millis grace;
  std::string why = {};  ///< For people: "n2 was lost: …". Empty: the workers have succeeded.
  friend bool operator==(const StopGeneration&, const StopGeneration&) = default;
};
/// Ask its workers to save and go on, if any can be asked, and answer SaveReported once one has.
struct SaveGeneration {
  NodeId node;
  GenerationNumber generation;
  friend bool operator==(const SaveGeneration&, const SaveGeneration&) = default;
};
struct FinishJob {
  NodeId node;
  Outcome outcome;
  bool leaves = false;  ///< That node alone: the job goes on.
  friend bool operator==(const FinishJob&, const FinishJob&) = default;
};
using CoordinatorAction = std::
    variant<StartGeneration, StopGeneration, SaveGeneration, FinishJob, Note, Propose, HandOver>;

}  // namespace ddprun
