#include "launcher/gpus.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace ddprun {
namespace {

NodeGpus four_nvidia() {
  return {{"GPU-aa11", "GPU-aa22", "GPU-bb33", "GPU-cc44"}, GpuVendor::nvidia};
}
NodeGpus four_amd() {
  return {{"GPU-1a", "GPU-2b", "GPU-3c", "GPU-4d"}, GpuVendor::amd};
}

Environment masked(const std::string& list) {
  return {{"CUDA_VISIBLE_DEVICES", list}};
}
int seen_by_cuda(const std::string& list) {
  return view_gpus(four_nvidia(), masked(list)).count;
}

/// Of a node of Slurm job 12, with what else there is.
Environment in_slurm(const Environment& more) {
  Environment all{{"SLURM_JOB_ID", "12"}, {"SLURMD_NODENAME", "n0"}};
  all.insert(more.begin(), more.end());
  return all;
}

/// "2; ROCR_VISIBLE_DEVICES=1,3; CUDA_VISIBLE_DEVICES unset": what workers see, and by which
/// changes.
std::string outcome(const GpuView& view) {
  std::string text = std::to_string(view.count);
  for (const auto& [name, value] : view.changes) {
    text += value ? fmt::format("; {}={}", name, *value) : fmt::format("; {} unset", name);
  }
  return text;
}

TEST_CASE("gpus: without a variable all are visible, and where there is none none is") {
  CHECK(view_gpus(four_nvidia(), {}).count == 4);
  CHECK(view_gpus(four_amd(), {}).count == 4);
  CHECK(view_gpus({}, {}).count == 0);
  CHECK(view_gpus({}, masked("0")).count == 0);
}

TEST_CASE("gpus: the list names indices, in any order, with blanks") {
  CHECK(seen_by_cuda("0") == 1);
  CHECK(seen_by_cuda("3,1") == 2);
  CHECK(seen_by_cuda(" 0 , 1,\t2") == 3);
  CHECK(seen_by_cuda("0,1,2,3") == 4);
}

TEST_CASE("gpus: the list ends at the first entry that names no device") {
  for (const char* list : {"-1", "4", "x", ",0", "99999999999999999999", "NoDevFiles", "0-3"}) {
    CAPTURE(list);
    CHECK(seen_by_cuda(list) == 0);
  }
  for (const char* list : {"0,-1,1", "0,4,1", "1,x,0", "1,,0", "0,-1,0"}) {
    CAPTURE(list);
    CHECK(seen_by_cuda(list) == 1);
  }
  CHECK(seen_by_cuda("0,1,") == 2);
}

TEST_CASE("gpus: a device may be named by its UUID or by a beginning that is its alone") {
  CHECK(seen_by_cuda("GPU-aa22,GPU-bb33") == 2);
  CHECK(seen_by_cuda("GPU-b,GPU-c") == 2);
  CHECK(seen_by_cuda("GPU-bb33,0") == 2);
  CHECK(seen_by_cuda("GPU-aa") == 0);  // two begin so
  for (const char* list : {"GPU-zz,0", "aa11", "gpu-aa11"}) CHECK(seen_by_cuda(list) == 0);
  CHECK(view_gpus({{"", "GPU-a"}}, masked("GPU-")).count == 1);
}

TEST_CASE("gpus: a device named twice leaves none") {
  CHECK(seen_by_cuda("0,1,0") == 0);
  CHECK(seen_by_cuda("1,GPU-aa22") == 0);
}

TEST_CASE("gpus: of parts of devices a process sees one") {
  CHECK(seen_by_cuda("MIG-11") == 1);
  CHECK(seen_by_cuda(" MIG-GPU-aa11/1/0,MIG-GPU-aa11/2/0") == 1);
}

TEST_CASE("gpus: an empty list hides all, and a list that leaves none is told") {
  for (const char* list : {"", " "}) {
    const GpuView hidden = view_gpus(four_nvidia(), masked(list));
    CHECK(hidden.count == 0);
    CHECK(hidden.problem.empty());
    CHECK(hidden.note.empty());
  }
  const GpuView wrong = view_gpus(four_nvidia(), masked("4,5"));
  CHECK(wrong.problem ==
        "CUDA_VISIBLE_DEVICES=4,5 leaves none of 4 GPUs that this process may open");
  CHECK(wrong.note == wrong.problem + "; correct or unset it, or write a number or 'cpu'");
}

TEST_CASE("gpus: Intel's are those that their variable names") {
  const NodeGpus intel{{}, GpuVendor::intel};
  CHECK(view_gpus(intel, {{"ZE_AFFINITY_MASK", "0,1"}}).count == 2);
  CHECK(view_gpus(intel, {{"ZE_AFFINITY_MASK", "0.0, 0.1,,0.0,"}}).count == 2);
  CHECK(view_gpus(intel, {{"ZE_AFFINITY_MASK", ""}}).count == 0);
  CHECK(view_gpus(intel, {}).count == 0);
  CHECK(view_gpus({}, {{"ZE_AFFINITY_MASK", "0,1"}}).count == 0);  // Slurm sets it for all GPUs
  CHECK(view_gpus(four_nvidia(), {{"ZE_AFFINITY_MASK", "0"}}).count == 4);
}

struct GpuCase {
  const char* what;
  NodeGpus gpus;
  Environment environment;
  const char* outcome;
  const char* note = "";  // its beginning
};

void check(const std::vector<GpuCase>& table) {
  for (const GpuCase& each : table) {
    CAPTURE(each.what);
    const GpuView view = view_gpus(each.gpus, each.environment);
    CHECK(outcome(view) == each.outcome);
    CHECK_MESSAGE(view.note.starts_with(each.note), view.note);
    CHECK(view.note.empty() == std::string(each.note).empty());
  }
}

TEST_CASE("gpus: in Slurm workers see those that are the job's") {
  check({
      {"hidden by their numbers among all",
       four_nvidia(),
       in_slurm({{"SLURM_GPUS_ON_NODE", "2"}, {"CUDA_VISIBLE_DEVICES", "2,3"}}),
       "2"},
      {"hidden by the kernel, and numbered anew",
       {{"GPU-bb33", "GPU-cc44"}},
       in_slurm({{"SLURM_GPUS_ON_NODE", "2"},
                 {"SLURM_STEP_ID", "0"},
                 {"SLURM_STEP_GPUS", "2,3"},
                 {"CUDA_VISIBLE_DEVICES", "0,1"}}),
       "2"},
      {"hidden by the kernel alone",
       {{"GPU-bb33", "GPU-cc44"}},
       in_slurm({{"SLURM_GPUS_ON_NODE", "2"}, {"SLURM_JOB_GPUS", "2,3"}}),
       "2"},
      {"all of the node", four_nvidia(), in_slurm({{"SLURM_GPUS_ON_NODE", "4"}}), "4"},
      {"not hidden in a script",
       four_nvidia(),
       in_slurm({{"SLURM_GPUS_ON_NODE", "2"}, {"SLURM_JOB_GPUS", "2,3"}}),
       "2; CUDA_VISIBLE_DEVICES=2,3",
       "CUDA_VISIBLE_DEVICES is not set, and this node has 4 GPUs: workers are given 2,3, which "
       "Slurm has given job 12"},
      {"not hidden in a script of a newer Slurm, which numbers that step",
       four_nvidia(),
       in_slurm(
           {{"SLURM_GPUS_ON_NODE", "1"}, {"SLURM_STEP_ID", "4294967291"}, {"SLURM_JOB_GPUS", "3"}}),
       "1; CUDA_VISIBLE_DEVICES=3",
       "CUDA_VISIBLE_DEVICES is not set"},
      {"not hidden in a step",
       four_amd(),
       in_slurm({{"SLURM_GPUS_ON_NODE", "1"},
                 {"SLURM_STEP_ID", "0"},
                 {"SLURM_STEP_GPUS", "1"},
                 {"SLURM_JOB_GPUS", "3"}}),
       "1; ROCR_VISIBLE_DEVICES=1",
       "ROCR_VISIBLE_DEVICES is not set"},
      {"a script's word for its own node is none for a step's",
       four_nvidia(),
       in_slurm({{"SLURM_GPUS_ON_NODE", "2"}, {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_GPUS", "2,3"}}),
       "2",
       "Slurm has given job 12 2 of 4 GPUs on this node, hides none and does not say which; write "
       "--gpus-per-node instead of --gpus-per-task with --gpu-bind=none, or set "
       "CUDA_VISIBLE_DEVICES"},
      {"numbers that are not as many",
       four_nvidia(),
       in_slurm({{"SLURM_GPUS_ON_NODE", "2"}, {"SLURM_JOB_GPUS", "2,9"}}),
       "2",
       "Slurm has given job 12 2 of 4 GPUs on this node, hides none"},
      {"none, and all can be opened",
       four_nvidia(),
       in_slurm({}),
       "0",
       "Slurm has given job 12 no GPU on this node, and nothing hides the 4 that are there; add "
       "#SBATCH --gpus-per-node=N, or set CUDA_VISIBLE_DEVICES where Slurm does not manage GPUs"},
      {"none, and one can be opened",
       {{"GPU-a"}},
       in_slurm({{"SLURM_GPUS_ON_NODE", "many"}}),
       "0",
       "Slurm has given job 12 no GPU on this node, and nothing hides the 1 that is there"},
      {"none, and hidden", four_nvidia(), in_slurm({{"CUDA_VISIBLE_DEVICES", ""}}), "0"},
      {"none that Slurm knows of", four_nvidia(), in_slurm({{"CUDA_VISIBLE_DEVICES", "0,1"}}), "2"},
      {"more than are the job's",
       four_nvidia(),
       in_slurm({{"SLURM_GPUS_ON_NODE", "2"}, {"CUDA_VISIBLE_DEVICES", "0,1,2,3"}}),
       "4",
       "CUDA_VISIBLE_DEVICES=0,1,2,3 names 4 GPUs, and Slurm has given job 12 only 2 on this node"},
      {"a shell of salloc elsewhere", four_nvidia(), {{"SLURM_JOB_ID", "12"}}, "4"},
  });
}

TEST_CASE("gpus: where none can be opened Slurm's word says what to do") {
  const auto problem = [](const Environment& more) {
    const GpuView view = view_gpus({}, in_slurm(more));
    CHECK(view.count == 0);
    CHECK(view.note.empty());
    return view.problem + "; " + view.remedy;
  };
  CHECK(problem({}) ==
        "Slurm has given job 12 no GPU on this node; add #SBATCH --gpus-per-node=N, or write a "
        "number or 'cpu'");
  CHECK(problem({{"SLURM_GPUS_ON_NODE", "2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}) ==
        "no driver shows the 2 GPUs that Slurm has given job 12 on this node; tell those who run "
        "the cluster, or write a number or 'cpu'");
  CHECK(view_gpus({}, {}).problem.empty());
}

TEST_CASE("gpus: AMD's are hidden once only, since HIP counts within what ROCm leaves") {
  const char* once = "workers get ROCR_VISIBLE_DEVICES=2,3, but not HIP_VISIBLE_DEVICES with";
  check({
      {"by either", four_amd(), {{"ROCR_VISIBLE_DEVICES", "2,3"}}, "2"},
      {"or the other", four_amd(), {{"HIP_VISIBLE_DEVICES", "2,3"}}, "2"},
      {"or CUDA's, which HIP reads, too", four_amd(), masked("3"), "1"},
      {"HIP's goes before CUDA's",
       four_amd(),
       {{"HIP_VISIBLE_DEVICES", "2,3"}, {"CUDA_VISIBLE_DEVICES", "1"}},
       "2"},
      {"an empty one is none for HIP",
       four_amd(),
       {{"HIP_VISIBLE_DEVICES", ""}, {"CUDA_VISIBLE_DEVICES", "1"}},
       "1"},
      {"but hides all for ROCm",
       four_amd(),
       {{"ROCR_VISIBLE_DEVICES", ""}, {"HIP_VISIBLE_DEVICES", "1"}},
       "0"},
      {"as Slurm sets them",
       four_amd(),
       in_slurm({{"SLURM_GPUS_ON_NODE", "2"},
                 {"CUDA_VISIBLE_DEVICES", "2,3"},
                 {"GPU_DEVICE_ORDINAL", "2,3"},
                 {"ROCR_VISIBLE_DEVICES", "2,3"}}),
       "2; CUDA_VISIBLE_DEVICES unset; GPU_DEVICE_ORDINAL unset",
       "workers get ROCR_VISIBLE_DEVICES=2,3, but not CUDA_VISIBLE_DEVICES and GPU_DEVICE_ORDINAL "
       "with the same value: HIP would count those within what the first leaves"},
      {"HIP's, too",
       four_amd(),
       {{"HIP_VISIBLE_DEVICES", "2,3"}, {"ROCR_VISIBLE_DEVICES", "2,3"}},
       "2; HIP_VISIBLE_DEVICES unset",
       once},
      {"the first ones are so within themselves",
       four_amd(),
       {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"ROCR_VISIBLE_DEVICES", "0,1"}},
       "2"},
      {"a choice within a choice is kept",
       four_amd(),
       {{"HIP_VISIBLE_DEVICES", "1"}, {"ROCR_VISIBLE_DEVICES", "2,3"}},
       "1"},
      {"UUIDs are the same everywhere",
       four_amd(),
       {{"HIP_VISIBLE_DEVICES", "GPU-3c"}, {"ROCR_VISIBLE_DEVICES", "GPU-3c"}},
       "1"},
      {"what leaves none is told",
       four_amd(),
       {{"HIP_VISIBLE_DEVICES", "3"}, {"ROCR_VISIBLE_DEVICES", "2,3"}},
       "0",
       "ROCR_VISIBLE_DEVICES=2,3 with HIP_VISIBLE_DEVICES=3 leaves none of 4 GPUs"},
  });
}

TEST_CASE("gpus: a task that sees fewer than the job has on the node sees others than its like") {
  const auto view = [](const char* given, const char* list) {
    return view_gpus(four_nvidia(),
                     in_slurm({{"SLURM_GPUS_ON_NODE", given}, {"CUDA_VISIBLE_DEVICES", list}}));
  };
  CHECK(view("4", "1").is_of_one_task());
  CHECK(view("4", "2,3").is_of_one_task());
  CHECK(note_of_one_task(view("4", "1")).starts_with("each task sees 1 of the 4 GPUs"));
  CHECK_FALSE(view("4", "0,1,2,3").is_of_one_task());
  CHECK_FALSE(view("1", "1").is_of_one_task());
  CHECK_FALSE(view("2", "").is_of_one_task());
  CHECK_FALSE(view_gpus(four_nvidia(), masked("1")).is_of_one_task());
}

}  // namespace
}  // namespace ddprun
