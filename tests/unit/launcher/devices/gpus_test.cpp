#include "launcher/devices/gpus.hpp"

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

/// On a node of Slurm job 12, with what else there is.
Environment in_slurm(const Environment& more = {}) {
  Environment all{{"SLURM_JOB_ID", "12"}, {"SLURMD_NODENAME", "n0"}};
  all.insert(more.begin(), more.end());
  return all;
}
/// On such a node, of which the job has so many GPUs.
Environment with_gpus(const char* count, Environment more = {}) {
  more["SLURM_GPUS_ON_NODE"] = count;
  return in_slurm(more);
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

TEST_CASE("gpus: the NUMA nodes are those of the visible ones, in their order") {
  NodeGpus nvidia = four_nvidia();
  nvidia.numa_nodes = {0, 1, 2, 3};
  const auto nodes = [](const NodeGpus& gpus, const Environment& environment) {
    return view_gpus(gpus, environment).numa_nodes;
  };
  CHECK(nodes(nvidia, {}) == std::vector<int>{0, 1, 2, 3});
  CHECK(nodes(nvidia, masked("3,1")) == std::vector<int>{3, 1});
  CHECK(nodes(nvidia, masked("GPU-bb")) == std::vector<int>{2});
  CHECK(nodes(nvidia, masked("MIG-x")).empty());
  CHECK(nodes(nvidia, with_gpus("2", {{"SLURM_JOB_GPUS", "1,2"}})) == std::vector<int>{1, 2});
  CHECK(nodes(nvidia, with_gpus("2")).empty());  // it does not reveal which
  NodeGpus amd = four_amd();
  amd.numa_nodes = {3, 1, 0, 2};
  const Environment both{{"ROCR_VISIBLE_DEVICES", "3,1,0"}, {"HIP_VISIBLE_DEVICES", "2,0"}};
  CHECK(nodes(amd, both) == std::vector<int>{3, 2});
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
  Environment environment;
  const char* outcome;
  const char* note = "";  // its beginning
};

void check(const NodeGpus& gpus, const std::vector<GpuCase>& table) {
  for (const GpuCase& each : table) {
    CAPTURE(each.what);
    const GpuView view = view_gpus(gpus, each.environment);
    CHECK(outcome(view) == each.outcome);
    CHECK_MESSAGE(view.note.starts_with(each.note), view.note);
    CHECK(view.note.empty() == std::string(each.note).empty());
  }
}

TEST_CASE("gpus: in Slurm workers see those that are the job's, whatever hides the others") {
  check(four_nvidia(),
        {
            {"by their numbers among all", with_gpus("2", masked("2,3")), "2"},
            {"there are no others", with_gpus("4"), "4"},
            {"none is the job's", in_slurm(masked("")), "0"},
            {"none that Slurm knows of", in_slurm(masked("0,1")), "2"},
            {"more than are the job's",
             with_gpus("2", masked("0,1,2,3")),
             "4",
             "CUDA_VISIBLE_DEVICES=0,1,2,3 names 4 GPUs, and Slurm has given job 12 only 2 on this "
             "node"},
            {"a shell of salloc elsewhere", {{"SLURM_JOB_ID", "12"}}, "4"},
        });
  check({{"GPU-bb33", "GPU-cc44"}},
        {
            {"the kernel, which numbers the rest anew",
             with_gpus("2",
                       {{"SLURM_STEP_ID", "0"},
                        {"SLURM_STEP_GPUS", "2,3"},
                        {"CUDA_VISIBLE_DEVICES", "0,1"}}),
             "2"},
            {"the kernel alone", with_gpus("2", {{"SLURM_JOB_GPUS", "2,3"}}), "2"},
        });
}

TEST_CASE("gpus: where nothing hides those of other jobs, Slurm's word does, if it is enough") {
  check(four_nvidia(),
        {
            {"in a script",
             with_gpus("2", {{"SLURM_JOB_GPUS", "2,3"}}),
             "2; CUDA_VISIBLE_DEVICES=2,3",
             "CUDA_VISIBLE_DEVICES is not set, and this node has 4 GPUs: workers get 2,3, "
             "which Slurm has given job 12"},
            {"in a script of a newer Slurm, which numbers that step",
             with_gpus("1", {{"SLURM_STEP_ID", "4294967291"}, {"SLURM_JOB_GPUS", "3"}}),
             "1; CUDA_VISIBLE_DEVICES=3",
             "CUDA_VISIBLE_DEVICES is not set"},
            {"a script's word for its own node is none for a step's",
             with_gpus("2", {{"SLURM_STEP_ID", "0"}, {"SLURM_JOB_GPUS", "2,3"}}),
             "2",
             "Slurm has given job 12 2 of 4 GPUs on this node, but does not reveal which; "
             "write --gpus-per-node instead of --gpus-per-task with --gpu-bind=none, or set "
             "CUDA_VISIBLE_DEVICES"},
            {"numbers that are not as many",
             with_gpus("2", {{"SLURM_JOB_GPUS", "2,9"}}),
             "2",
             "Slurm has given job 12 2 of 4 GPUs on this node, but does not reveal"},
            {"none is the job's",
             in_slurm(),
             "0",
             "Slurm has given job 12 no GPU on this node, whose 4 GPUs are visible; "
             "add #SBATCH --gpus-per-node=N, or set CUDA_VISIBLE_DEVICES if Slurm does not "
             "manage GPUs"},
        });
  check({{"GPU-a"}},
        {{"none, of one",
          with_gpus("many"),
          "0",
          "Slurm has given job 12 no GPU on this node, whose GPU is visible"}});
  check(
      four_amd(),
      {{"AMD's in a step",
        with_gpus("1", {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_GPUS", "1"}, {"SLURM_JOB_GPUS", "3"}}),
        "1; ROCR_VISIBLE_DEVICES=1",
        "ROCR_VISIBLE_DEVICES is not set"}});
}

TEST_CASE("gpus: where none can be opened Slurm's word says what to do") {
  const auto problem = [](const Environment& environment) {
    const GpuView view = view_gpus({}, environment);
    CHECK(view.count == 0);
    CHECK(view.note.empty());
    return view.problem + "; " + view.remedy;
  };
  CHECK(problem(in_slurm()) ==
        "Slurm has given job 12 no GPU on this node; add #SBATCH --gpus-per-node=N, or write a "
        "number or 'cpu'");
  CHECK(problem(with_gpus("2", masked("0,1"))) ==
        "no driver shows the 2 GPUs that Slurm has given job 12 on this node; ask your cluster "
        "administrators, or write a number or 'cpu'");
  CHECK(view_gpus({}, {}).problem.empty());
}

/// With a list for HIP, which counts within ROCm's.
Environment hip_within(const char* rocm, const char* hip) {
  return {{"ROCR_VISIBLE_DEVICES", rocm}, {"HIP_VISIBLE_DEVICES", hip}};
}

TEST_CASE("gpus: AMD's are hidden once only, since HIP counts within what ROCm leaves") {
  const char* once = "workers get ROCR_VISIBLE_DEVICES=2,3, but not HIP_VISIBLE_DEVICES with";
  check(four_amd(),
        {
            {"by either", {{"ROCR_VISIBLE_DEVICES", "2,3"}}, "2"},
            {"or the other", {{"HIP_VISIBLE_DEVICES", "2,3"}}, "2"},
            {"or CUDA's, which HIP reads, too", masked("3"), "1"},
            {"HIP's goes before CUDA's",
             {{"HIP_VISIBLE_DEVICES", "2,3"}, {"CUDA_VISIBLE_DEVICES", "1"}},
             "2"},
            {"an empty one is none for HIP",
             {{"HIP_VISIBLE_DEVICES", ""}, {"CUDA_VISIBLE_DEVICES", "1"}},
             "1"},
            {"but hides all for ROCm", hip_within("", "1"), "0"},
            {"as Slurm sets them",
             with_gpus("2",
                       {{"CUDA_VISIBLE_DEVICES", "2,3"},
                        {"GPU_DEVICE_ORDINAL", "2,3"},
                        {"ROCR_VISIBLE_DEVICES", "2,3"}}),
             "2; CUDA_VISIBLE_DEVICES unset; GPU_DEVICE_ORDINAL unset",
             "workers get ROCR_VISIBLE_DEVICES=2,3, but not CUDA_VISIBLE_DEVICES and "
             "GPU_DEVICE_ORDINAL "
             "with the same value: HIP would apply it within the selection of the first"},
            {"HIP's, too", hip_within("2,3", "2,3"), "2; HIP_VISIBLE_DEVICES unset", once},
            {"the first ones are so within themselves",
             {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"ROCR_VISIBLE_DEVICES", "0,1"}},
             "2"},
            {"a choice within a choice is kept", hip_within("2,3", "1"), "1"},
            {"UUIDs are the same everywhere", hip_within("GPU-3c", "GPU-3c"), "1"},
            {"what leaves none is told",
             hip_within("2,3", "3"),
             "0",
             "ROCR_VISIBLE_DEVICES=2,3 with HIP_VISIBLE_DEVICES=3 leaves none of 4 GPUs"},
        });
}

TEST_CASE("gpus: a task that sees fewer than the job has on the node sees others than its like") {
  const auto view = [](const char* given, const char* list) {
    return view_gpus(four_nvidia(), with_gpus(given, masked(list)));
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
