// The GPUs of a node that workers see: the variables by which Slurm and users choose some, resolved
// as the vendors' libraries do, and compared with the GPUs that Slurm says it has given. This
// file alone decides which GPUs the workers get. Pure.
//
// The choice of a variable is never widened. If none is set, Slurm's variables narrow the GPUs that
// can be opened; if they do not say which GPUs are the job's, the view has a problem.
#pragma once

#include "launcher/text/environment.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddprun {

enum class GpuVendor : std::uint8_t { nvidia, amd, intel };

/// The driver's GPUs that this process may open, in the order of the libraries' indices.
struct NodeGpus {
  std::vector<std::string> uuids;  ///< "" for one that does not tell. Intel's are not listed.
  GpuVendor vendor = GpuVendor::nvidia;
  std::vector<int> numa_nodes = {};  ///< Of each; -1: not told.
};

struct GpuView {
  int count = 0;                ///< GPUs that a worker sees.
  std::vector<int> numa_nodes;  ///< Of each that a worker sees; empty: not known.
  int given_count = 0;  ///< GPUs that the job has on this node by Slurm; 0: none, or no Slurm.

  /// To be made in the workers' environment; no value: to be unset.
  std::map<std::string, std::optional<std::string>> changes;

  /// Why workers cannot be counted by GPUs, and what to do; empty: they can, or there are none.
  std::string problem;
  std::string remedy;
  /// The line for users if workers are not counted by GPUs; may be empty.
  std::string note;

  /// Whether Slurm shows the step's other tasks others of the job's GPUs on this node.
  [[nodiscard]] bool is_of_one_task() const { return count > 0 && count < given_count; }
};

/// The GPUs that workers with that environment see.
[[nodiscard]] GpuView view_gpus(const NodeGpus& gpus, const Environment& environment);

/// The line about such tasks, whose workers all have LOCAL_RANK 0.
[[nodiscard]] std::string note_of_one_task(const GpuView& view);

}  // namespace ddprun
