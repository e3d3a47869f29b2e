#include "launcher/devices/gpus.hpp"

#include "launcher/allocation/allocation.hpp"
#include "launcher/text/text_of_count.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string_view>

namespace ddprun {
namespace {

/// Empty also where it is not set.
std::string text_in(const Environment& environment, const std::string& name) {
  return find_variable(environment, name).value_or("");
}

/// The index of the device that `entry` names by index, UUID or unique beginning of one.
std::optional<std::size_t> find_device(std::string_view entry,
                                       const std::vector<std::string>& uuids) {
  if (const auto index = parse_count(entry)) {
    if (static_cast<std::size_t>(*index) >= uuids.size()) return std::nullopt;
    return static_cast<std::size_t>(*index);
  }
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    if (!entry.starts_with("GPU-") || !uuids[i].starts_with(entry)) continue;
    if (found) return std::nullopt;  // not unique
    found = i;
  }
  return found;
}

/// The devices that a list leaves, in its order. It ends at its first entry that names no device,
/// and a device named twice leaves none (CUDA C++ Programming Guide, CUDA_VISIBLE_DEVICES).
NodeGpus chosen(const NodeGpus& gpus, std::string_view list) {
  NodeGpus left{{}, gpus.vendor, {}};
  std::set<std::size_t> seen;
  for (const std::string_view entry : parts_of(list)) {
    const auto device = find_device(trimmed(entry), gpus.uuids);
    if (!device) break;
    if (!seen.insert(*device).second) return {{}, gpus.vendor, {}};
    left.uuids.push_back(gpus.uuids[*device]);
    if (*device < gpus.numa_nodes.size()) left.numa_nodes.push_back(gpus.numa_nodes[*device]);
  }
  return left;
}

/// Slurm's variables about the GPUs of this node.
struct SlurmGpus {
  std::string job;        ///< Empty: this is no node of a job.
  std::size_t count = 0;  ///< Given to the job, or to the step.
  std::string ids;        ///< Their indices among all of the node; empty: unknown.
};

SlurmGpus slurm_gpus(const Environment& environment) {
  SlurmGpus found;
  if (text_in(environment, "SLURMD_NODENAME").empty()) return found;
  found.job = text_in(environment, "SLURM_JOB_ID");
  constexpr std::int64_t count_max = 1024;
  const auto count = count_in(environment, "SLURM_GPUS_ON_NODE");
  if (count && *count <= count_max) found.count = static_cast<std::size_t>(*count);
  // A step inherits SLURM_JOB_GPUS from the script, whose node may be another one.
  found.ids = text_in(environment, is_in_step(environment) ? "SLURM_STEP_GPUS" : "SLURM_JOB_GPUS");
  return found;
}

constexpr const char* or_write = "or write a number or 'cpu'";

/// How many devices or tiles ZE_AFFINITY_MASK names; no driver lists Intel's GPUs in more detail.
int count_intel(const Environment& environment) {
  std::set<std::string_view> names;
  const std::string mask = text_in(environment, "ZE_AFFINITY_MASK");
  for (const std::string_view name : parts_of(mask)) names.insert(trimmed(name));
  names.erase("");
  return static_cast<int>(names.size());
}

/// No device can be opened.
void view_nothing(const SlurmGpus& slurm, GpuView& view) {
  if (slurm.job.empty()) return;
  if (slurm.count == 0) {
    view.problem = fmt::format("Slurm has given job {} no GPU on this node", slurm.job);
    view.remedy = fmt::format("add #SBATCH --gpus-per-node=N, {}", or_write);
    return;
  }
  view.problem = fmt::format("no driver shows the {} that Slurm has given job {} on this node",
                             text_of_count(slurm.count, "GPU"),
                             slurm.job);
  view.remedy = fmt::format("ask your cluster administrators, {}", or_write);
}

/// Nothing hides any device: `mask` is not set.
void view_unmasked(const NodeGpus& gpus,
                   const SlurmGpus& slurm,
                   const std::string& mask,
                   GpuView& view) {
  const std::size_t all = gpus.uuids.size();
  view.count = static_cast<int>(all);
  view.numa_nodes = gpus.numa_nodes;
  if (slurm.job.empty() || slurm.count >= all) return;
  view.count = static_cast<int>(slurm.count);
  const NodeGpus given = chosen(gpus, slurm.ids);
  view.numa_nodes = given.numa_nodes;
  if (slurm.count == 0) {
    view.problem = fmt::format("Slurm has given job {} no GPU on this node, whose {} visible",
                               slurm.job,
                               all == 1 ? "GPU is" : fmt::format("{} GPUs are", all));
    view.remedy =
        fmt::format("add #SBATCH --gpus-per-node=N, or set {} if Slurm does not manage GPUs", mask);
  } else if (given.uuids.size() == slurm.count) {
    view.changes[mask] = slurm.ids;
    view.note = fmt::format(
        "{} is not set, and this node has {} GPUs: workers get {}, which Slurm has given job {}",
        mask,
        all,
        slurm.ids,
        slurm.job);
    return;
  } else {
    view.problem =
        fmt::format("Slurm has given job {} {} of {} on this node, but does not reveal which",
                    slurm.job,
                    slurm.count,
                    text_of_count(all, "GPU"));
    view.remedy = fmt::format(
        "write --gpus-per-node instead of --gpus-per-task with --gpu-bind=none, or set {}", mask);
  }
  view.note = fmt::format("{}; {}", view.problem, view.remedy);
}

/// `left`: the devices that the variables called `mask` select.
void view_masked(const NodeGpus& left,
                 const NodeGpus& gpus,
                 const SlurmGpus& slurm,
                 const std::string& mask,
                 GpuView& view) {
  view.count = static_cast<int>(left.uuids.size());
  view.numa_nodes = left.numa_nodes;
  if (left.uuids.empty()) {
    view.problem = fmt::format("{} leaves none of {} that this process may open",
                               mask,
                               text_of_count(gpus.uuids.size(), "GPU"));
    view.remedy = fmt::format("correct or unset it, {}", or_write);
    view.note = fmt::format("{}; {}", view.problem, view.remedy);
  } else if (slurm.count > 0 && left.uuids.size() > slurm.count) {
    view.note = fmt::format(
        "{} names {}, and Slurm has given job {} only {} on this node; unset it, or ask for more "
        "by #SBATCH --gpus-per-node",
        mask,
        text_of_count(left.uuids.size(), "GPU"),
        slurm.job,
        slurm.count);
  }
}

std::string assignment(const Environment& environment, const std::string& name) {
  return fmt::format("{}={}", name, text_in(environment, name));
}

void view_nvidia(const NodeGpus& gpus,
                 const SlurmGpus& slurm,
                 const Environment& environment,
                 GpuView& view) {
  const std::string mask = "CUDA_VISIBLE_DEVICES";
  const auto list = find_variable(environment, mask);
  if (!list) return view_unmasked(gpus, slurm, mask, view);
  const std::string_view first = trimmed(*list);
  if (first.empty()) return;  // hidden on purpose
  if (first.starts_with("MIG-")) {
    view.count = 1;  // part of a device, of which a process sees one
    return;
  }
  view_masked(chosen(gpus, *list), gpus, slurm, assignment(environment, mask), view);
}

/// HIP selects among the devices of ROCR_VISIBLE_DEVICES. Slurm sets both with the node's indices
/// if it does not hide devices otherwise; then one of them is enough, and two may select none.
void view_amd(const NodeGpus& gpus,
              const SlurmGpus& slurm,
              const Environment& environment,
              GpuView& view) {
  constexpr const char* outer = "ROCR_VISIBLE_DEVICES";
  const bool has_outer = environment.contains(outer);
  const std::string list = text_in(environment, outer);
  if (has_outer && trimmed(list).empty()) return;  // hidden on purpose
  const NodeGpus below = has_outer ? chosen(gpus, list) : gpus;
  const bool narrows_again = has_outer && chosen(below, list).uuids != below.uuids;
  std::vector<std::string> repeated;
  for (const char* name : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    if (!narrows_again || text_in(environment, name) != list) continue;
    repeated.emplace_back(name);
    view.changes[name] = std::nullopt;
  }
  std::string inner;  // HIP takes an empty value for none
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}) {
    const bool counts = !view.changes.contains(name) && !text_in(environment, name).empty();
    if (counts) inner = name;
  }
  if (!has_outer && inner.empty()) return view_unmasked(gpus, slurm, outer, view);
  const auto left = inner.empty() ? below : chosen(below, text_in(environment, inner));
  std::vector<std::string> masks;
  if (has_outer) masks.push_back(assignment(environment, outer));
  if (!inner.empty()) masks.push_back(assignment(environment, inner));
  view_masked(left, gpus, slurm, fmt::to_string(fmt::join(masks, " with ")), view);
  if (repeated.empty() || !view.note.empty()) return;
  view.note = fmt::format(
      "workers get {}, but not {} with the same value: HIP would apply it "
      "within the selection of the first",
      assignment(environment, outer),
      fmt::join(repeated, " and "));
}

}  // namespace

GpuView view_gpus(const NodeGpus& gpus, const Environment& environment) {
  const SlurmGpus slurm = slurm_gpus(environment);
  GpuView view;
  view.given_count = static_cast<int>(slurm.count);
  if (gpus.uuids.empty()) {
    if (gpus.vendor == GpuVendor::intel) view.count = count_intel(environment);
    if (view.count == 0) view_nothing(slurm, view);
  } else if (gpus.vendor == GpuVendor::nvidia) {
    view_nvidia(gpus, slurm, environment, view);
  } else {
    view_amd(gpus, slurm, environment, view);
  }
  return view;
}

std::string note_of_one_task(const GpuView& view) {
  return fmt::format(
      "each task sees {} of the {} GPUs that Slurm has given the job on this node: LOCAL_RANK is 0 "
      "in all workers, since programs use it as the number of their GPU; for numbers from 0 on "
      "write --gpus-per-node={} instead of --gpus-per-task and --gpu-bind",
      view.count,
      view.given_count,
      view.given_count);
}

}  // namespace ddprun
