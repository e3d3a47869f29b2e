#include "launcher/allocation/allocation_settings.hpp"

#include "launcher/text/endpoint.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddprun {
namespace {

bool leaves_nodes_to_allocation(const Settings& all) {
  const auto nodes =
      is_given(all.at("nnodes")) ? parse_bounds(all.at("nnodes").value) : std::nullopt;
  const bool alone = all.at("standalone").value == "true" || (nodes && nodes->high == 1);
  return !alone && !is_given(all.at("rdzv-endpoint")) && !is_given(all.at("master-addr"));
}

/// The number of possible agents, at most the number requested.
Result<void> settle_nodes(const Allocation& found, Settings& all) {
  const bool is_task = found.situation == Situation::task;
  const std::size_t size =
      is_task ? static_cast<std::size_t>(found.task_count) : found.nodes.size();
  Setting& nodes = all.at("nnodes");
  if (!is_given(nodes)) {
    nodes = {std::to_string(size), is_task ? "SLURM_STEP_NUM_TASKS" : "SLURM_JOB_NODELIST"};
    return {};
  }
  const auto asked = parse_bounds(nodes.value);
  if (!asked) return {};  // its reader reports the error
  const auto available = static_cast<std::int64_t>(size);
  if (asked->low > available) {
    return Error(ExitStatus::usage,
                 fmt::format("--nnodes: '{}' from {} needs {} nodes, but there {} {} {}",
                             nodes.value,
                             nodes.origin,
                             asked->low,
                             size == 1 ? "is" : "are",
                             size,
                             is_task ? "in this step" : "in this allocation"),
                 found.text(),
                 "ask Slurm for more, or write fewer");
  }
  if (asked->high > available) nodes.value = fmt::format("{}:{}", asked->low, available);
  return {};
}

/// A shell of salloc may be on a host outside the job.
Result<void> check_place(const Allocation& found) {
  const bool outside = found.situation == Situation::script && found.own_node.empty();
  if (!outside || found.nodes.size() > 1) return {};
  return Error(
      ExitStatus::usage,
      fmt::format(
          "this host is not the node {} of Slurm job {}", found.nodes.front(), found.job_id),
      "",
      "write srun in front of ddprun, or --standalone to run on this host");
}

}  // namespace

Result<std::optional<Allocation>> apply_allocation(const Environment& environment, Settings& all) {
  if (!leaves_nodes_to_allocation(all)) return std::optional<Allocation>();
  auto found = read_allocation(environment);
  if (!found || !*found) return found;
  const Allocation& allocation = **found;
  if (auto settled = settle_nodes(allocation, all); !settled) return settled.error();
  if (auto right = check_place(allocation); !right) return right.error();
  if (allocation.is_alone()) return found;
  if (allocation.situation == Situation::script) {
    const bool inside = !allocation.own_node.empty();
    all.at("rdzv-endpoint") = {inside ? allocation.own_node : "localhost", "the batch script"};
    return found;
  }
  const std::string head = allocation.nodes.front() + all.at("hostname-suffix").value;
  all.at("rdzv-endpoint") = {text_of(Endpoint{head, port_of_step(allocation)}),
                             "SLURM_STEP_NODELIST"};
  all.at("node-rank") = {std::to_string(allocation.task), "SLURM_PROCID"};
  if (!is_given(all.at("rdzv-id"))) {
    all.at("rdzv-id") = {allocation.job_id + "." + allocation.step_id, "SLURM_STEP_ID"};
  }
  return found;
}

}  // namespace ddprun
