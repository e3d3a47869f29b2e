// What workers see of a node's GPUs: the variables by which Slurm and people choose some, resolved
// as the vendors' libraries resolve them, and held against what Slurm says that it has given. Here
// alone it is decided which GPUs are the workers'. Pure.
//
// What a variable chooses is never widened. Where none is set, Slurm's word narrows what can be
// opened; where that is not enough to tell which GPUs are the job's, the view has a problem.
#pragma once

#include "launcher/text/environment.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddprun {

enum class GpuVendor : std::uint8_t { nvidia, amd, intel };

/// What the driver shows that this process may open, in the order of the libraries' indices.
struct NodeGpus {
  std::vector<std::string> uuids;  ///< "" for one that does not tell. Intel's are not listed.
  GpuVendor vendor = GpuVendor::nvidia;
};

struct GpuView {
  int count = 0;        ///< What a worker sees.
  int given_count = 0;  ///< What Slurm has given to the job on this node; 0: none, or no Slurm.

  /// To be made in the workers' environment; no value: to be unset.
  std::map<std::string, std::optional<std::string>> changes;

  /// Why workers cannot be counted by GPUs, and what to do; empty: they can, or there are none.
  std::string problem;
  std::string remedy;
  /// What people are told where workers need not be counted; empty: nothing.
  std::string note;

  /// Whether Slurm shows the step's other tasks others of the job's GPUs on this node.
  [[nodiscard]] bool is_of_one_task() const { return count > 0 && count < given_count; }
};

/// What workers with that environment see.
[[nodiscard]] GpuView view_gpus(const NodeGpus& gpus, const Environment& environment);

/// What is said of such tasks, whose workers all have LOCAL_RANK 0.
[[nodiscard]] std::string note_of_one_task(const GpuView& view);

}  // namespace ddprun
