// What this node knows of a worker's failure that ended the job. Some of it is a difference: what
// is to be compared is noted when a generation begins.
#pragma once

#include "launcher/failures/failure_details.hpp"
#include "launcher/failures/kernel_log.hpp"
#include "launcher/workers/worker_group.hpp"
#include "rendezvous/outcome.hpp"

#include <cstdint>
#include <optional>

namespace ddprun {

class FailureLook {
 public:
  /// `workers` outlive it.
  explicit FailureLook(const WorkerGroup& workers) : workers_(workers) {}

  /// Before the workers of a generation start.
  void begin(const Part& part);

  /// After the newest generation; nothing if the worker was on another node.
  [[nodiscard]] std::optional<FailureFacts> facts_of(const Outcome& outcome) const;

 private:
  const WorkerGroup& workers_;
  Part part_;  // of the newest generation
  std::optional<std::int64_t> oom_kills_;
  KernelLog kernel_log_;
};

}  // namespace ddprun
