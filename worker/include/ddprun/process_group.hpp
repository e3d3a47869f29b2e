// The ranks of one generation, connected: the store through which they found each other and the
// collectives they share.
#pragma once

#include "ddprun/context.hpp"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/torch.h>

#include <chrono>
#include <memory>
#include <string>

namespace ddprun::worker {

struct ProcessGroupOptions {
  /// How long to try to reach the store, and to wait for a key there. The launcher starts all ranks
  /// of a generation together; two minutes leave room for LibTorch's libraries on a slow
  /// filesystem.
  std::chrono::milliseconds store_timeout{120'000};
  /// How long one collective, or connecting to the other ranks, may take. It bounds the wait for a
  /// rank that is busy, such as with writing a large snapshot; a rank that died is noticed
  /// at once.
  std::chrono::milliseconds collective_timeout{600'000};
};

/// A cheap handle: copies are the same group, which ends with the last of them. Collectives must be
/// called by every rank, in the same order, from one thread at a time, and throw c10::Error when a
/// rank is gone or the time is up.
class ProcessGroup {
 public:
  /// The group of all ranks of `context`; returns when each of them is connected. A
  /// single process needs no store over TCP. CPU tensors go over Gloo, bound to the interfaces that
  /// the context names or else to the address that routes to MASTER_ADDR; CUDA tensors go over
  /// NCCL. Throws Error when the store or a rank cannot be reached.
  [[nodiscard]] static ProcessGroup connect(const Context& context,
                                            const ProcessGroupOptions& options = {});

  /// Rank `context.rank` of the group that meets in `store`, which must be empty of older groups.
  ProcessGroup(c10::intrusive_ptr<c10d::Store> store,
               const Context& context,
               const ProcessGroupOptions& options = {});

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Replaces `tensor` by the sum over all ranks; the same bits on each of them.
  void all_reduce_sum(torch::Tensor tensor) const;
  /// Returns when every rank has called it.
  void barrier() const;
  /// The same, for a phase of which the program knows how long it may take. Rank 0 waits up to
  /// `limit` for each of the others in turn, and then throws Error that names those that are
  /// missing; the others throw, too. If rank 0 itself is missing, they wait collective_timeout.
  /// The group is of no use afterwards. It is Gloo's monitored barrier.
  void barrier(std::chrono::milliseconds limit) const;
  /// The `value` of rank 0, on every rank, through the store: for decisions, not for data. The
  /// arguments of other ranks are not used. `topic` must be new in this group. Throws Error.
  [[nodiscard]] std::string from_rank_0(const std::string& topic, const std::string& value) const;

  [[nodiscard]] const c10::intrusive_ptr<c10d::ProcessGroup>& native() const { return group_; }

 private:
  int rank_;
  int size_;
  std::chrono::milliseconds decision_timeout_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::shared_ptr<const void> end_;  // of the group, with its last handle
};

/// The device this rank computes on: of the GPUs that LibTorch sees the one of its local rank
/// modulo their number, or the CPU if it sees none.
[[nodiscard]] torch::Device device_of(const Context& context);

}  // namespace ddprun::worker
