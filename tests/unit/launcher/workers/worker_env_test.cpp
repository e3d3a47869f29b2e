#include "launcher/workers/worker_env.hpp"

#include "launcher/options/variables.hpp"
#include "launcher/text/values.hpp"

#include <doctest/doctest.h>

#include <set>

namespace ddprun {
namespace {

/// The second of two nodes with 1 and 3 workers; the store is the first one's.
Part part() {
  Part made;
  made.number = GenerationNumber{3};
  made.group_rank = 1;
  made.group_world_size = 2;
  made.first_rank = Rank{1};
  made.worker_count = 3;
  made.world_size = 4;
  made.master_address = "10.0.0.1";
  made.master_port = 4001;
  made.restart_count = 2;
  return made;
}

WorkerSetup setup() {
  WorkerSetup made;
  made.job_id = "job7";
  made.host = "n1";
  made.interface = "eth1";
  made.restarts_max = 5;
  made.core_count = 8;
  return made;
}

Environment of_local_rank(const WorkerSetup& setup, std::size_t local_rank) {
  return worker_environment(setup, part(), places_in(part()).at(local_rank));
}

TEST_CASE("worker environment: with a virtual local rank each worker sees one GPU as the first") {
  WorkerSetup virtual_ranks = setup();
  virtual_ranks.virtual_local_rank = true;
  virtual_ranks.gpu_count = 4;
  virtual_ranks.role = "trainer";
  const Environment plain = of_local_rank(virtual_ranks, 2);
  CHECK(plain.at("LOCAL_RANK") == "0");
  CHECK(plain.at("RANK") == "3");
  CHECK(plain.at("LOCAL_WORLD_SIZE") == "3");
  CHECK(plain.at("ROLE_NAME") == "trainer");
  CHECK(plain.at("CUDA_VISIBLE_DEVICES") == "2");
  CHECK(plain.at("DDPRUN_DEVICE") == "0");
  virtual_ranks.inherited["CUDA_VISIBLE_DEVICES"] = "GPU-a, GPU-b,GPU-c";
  CHECK(of_local_rank(virtual_ranks, 1).at("CUDA_VISIBLE_DEVICES") == "GPU-b");
  virtual_ranks.inherited["HIP_VISIBLE_DEVICES"] = "4,5,6";
  CHECK(of_local_rank(virtual_ranks, 2).at("HIP_VISIBLE_DEVICES") == "6");
  CHECK(of_local_rank(virtual_ranks, 2).at("CUDA_VISIBLE_DEVICES") == "GPU-a, GPU-b,GPU-c");
}

TEST_CASE("worker environment: with a virtual local rank GPUs that are hidden stay hidden") {
  WorkerSetup hidden = setup();
  hidden.virtual_local_rank = true;
  CHECK(of_local_rank(hidden, 1).at("CUDA_VISIBLE_DEVICES") == "1");
  for (const char* list : {"", " "}) {
    hidden.inherited["CUDA_VISIBLE_DEVICES"] = list;
    CHECK(trimmed(of_local_rank(hidden, 1).at("CUDA_VISIBLE_DEVICES")).empty());
    CHECK(of_local_rank(hidden, 1).at("LOCAL_RANK") == "0");
  }
  hidden.inherited["CUDA_VISIBLE_DEVICES"] = "";
  hidden.gpu_count = 2;  // AMD's: HIP takes an empty list for none
  CHECK(of_local_rank(hidden, 1).at("CUDA_VISIBLE_DEVICES") == "1");
}

TEST_CASE("worker environment: torchrun's variables, exactly, and ours, and no more") {
  CHECK(of_local_rank(setup(), 1) == Environment{{"RANK", "2"},
                                                 {"LOCAL_RANK", "1"},
                                                 {"WORLD_SIZE", "4"},
                                                 {"LOCAL_WORLD_SIZE", "3"},
                                                 {"GROUP_RANK", "1"},
                                                 {"GROUP_WORLD_SIZE", "2"},
                                                 {"ROLE_NAME", "default"},
                                                 {"ROLE_RANK", "2"},
                                                 {"ROLE_WORLD_SIZE", "4"},
                                                 {"MASTER_ADDR", "10.0.0.1"},
                                                 {"MASTER_PORT", "4001"},
                                                 {"TORCHELASTIC_RESTART_COUNT", "2"},
                                                 {"TORCHELASTIC_MAX_RESTARTS", "5"},
                                                 {"TORCHELASTIC_RUN_ID", "job7"},
                                                 {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                 {"TORCHELASTIC_ERROR_FILE", ""},
                                                 {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                                                 {"OMP_NUM_THREADS", "2"},
                                                 {"GLOO_SOCKET_IFNAME", "eth1"},
                                                 {"NCCL_SOCKET_IFNAME", "eth1"},
                                                 {"DDPRUN_GENERATION", "3"},
                                                 {"DDPRUN_JOB_ID", "job7"},
                                                 {"DDPRUN_NODE", "n1"}});
}

TEST_CASE("worker environment: what says who a worker is replaces what was inherited") {
  WorkerSetup again = setup();
  for (const auto& [name, value] : of_local_rank(setup(), 0)) again.inherited[name] = "stale";
  again.inherited["DDPRUN_DEVICE"] = "stale";
  again.inherited["DDPRUN_SNAPSHOT"] = "stale";
  again.inherited["DDPRUN_CONTROL_FD"] = "stale";
  const std::set<std::string> advice{"OMP_NUM_THREADS",
                                     "GLOO_SOCKET_IFNAME",
                                     "NCCL_SOCKET_IFNAME",
                                     "TORCH_NCCL_ASYNC_ERROR_HANDLING"};
  for (const auto& variable : of_local_rank(again, 0)) {
    CAPTURE(variable.first);
    CHECK((variable.second == "stale") == advice.contains(variable.first));
    CHECK(is_set_by_ddprun(variable.first) == !advice.contains(variable.first));
  }
  CHECK_FALSE(is_set_by_ddprun("PATH"));
  CHECK_FALSE(of_local_rank(again, 0).contains("DDPRUN_DEVICE"));
  CHECK_FALSE(of_local_rank(again, 0).contains("DDPRUN_SNAPSHOT"));
  CHECK_FALSE(of_local_rank(again, 0).contains("DDPRUN_CONTROL_FD"));
}

TEST_CASE("worker environment: everything else is passed on") {
  WorkerSetup with_more = setup();
  with_more.inherited = {{"PATH", "/bin"}, {"CUDA_VISIBLE_DEVICES", "3,4"}, {"EMPTY", ""}};
  const Environment all = of_local_rank(with_more, 0);
  for (const auto& [name, value] : with_more.inherited) CHECK(all.at(name) == value);
}

TEST_CASE("worker environment: a worker with a GPU is told its place in the visible list") {
  WorkerSetup two_gpus = setup();
  two_gpus.gpu_count = 2;
  CHECK(of_local_rank(two_gpus, 0).at("DDPRUN_DEVICE") == "0");
  CHECK(of_local_rank(two_gpus, 1).at("DDPRUN_DEVICE") == "1");
  CHECK(of_local_rank(two_gpus, 2).at("DDPRUN_DEVICE") == "0");  // as device_of() of workers
}

TEST_CASE("worker environment: snapshot, log and error file are named where there are any") {
  WorkerSetup with_files = setup();
  with_files.snapshot = "run/snapshot.pt";
  with_files.log_dir = "logs";
  CHECK(of_local_rank(with_files, 2).at("DDPRUN_SNAPSHOT") == "run/snapshot.pt");
  CHECK(of_local_rank(with_files, 2).at("TORCHELASTIC_ERROR_FILE") == "logs/job7/3/3.error.json");
  CHECK(log_path(with_files, part(), Rank{3}) == "logs/job7/3/3");
  CHECK(log_path(setup(), part(), Rank{3}).empty());
  CHECK(error_file_path(with_files, part(), Rank{0}) == "logs/job7/3/0.error.json");
  CHECK(error_file_path(setup(), part(), Rank{0}).empty());
  WorkerSetup without_logs = setup();
  without_logs.error_folder = "/tmp/errors";
  CHECK(of_local_rank(without_logs, 2).at("TORCHELASTIC_ERROR_FILE") ==
        "/tmp/errors/3.3.error.json");
  CHECK(log_path(without_logs, part(), Rank{3}).empty());
}

TEST_CASE("worker environment: cores are shared evenly, and nobody has less than one") {
  WorkerSetup node = setup();
  CHECK(threads_of_worker(node, LocalRank{0}, 1) == "8");
  CHECK(threads_of_worker(node, LocalRank{0}, 3) == "2");
  CHECK(threads_of_worker(node, LocalRank{0}, 8) == "1");
  CHECK(threads_of_worker(node, LocalRank{0}, 100) == "1");
}

TEST_CASE("worker environment: a bound worker has the threads of its own cores") {
  WorkerSetup node = setup();
  node.threads = {2, 4, 3};
  CHECK(of_local_rank(node, 1).at("OMP_NUM_THREADS") == "4");
  CHECK(threads_text(node, 3) == "OMP_NUM_THREADS=2-4 each of 8 cores");
  node.threads = {4, 4, 4};
  CHECK(threads_text(node, 3) == "OMP_NUM_THREADS=4 each of 8 cores");
  node.threads = {};
  CHECK(threads_text(node, 3) == "OMP_NUM_THREADS=2 each of 8 cores");
  node.threads = {2, 4, 3};
  node.inherited["OMP_NUM_THREADS"] = "5";
  CHECK(of_local_rank(node, 1).at("OMP_NUM_THREADS") == "5");
  CHECK(threads_text(node, 3) == "OMP_NUM_THREADS=5 each of 8 cores");
}

TEST_CASE("worker environment: the user's number of threads stays") {
  WorkerSetup node = setup();
  node.inherited["OMP_NUM_THREADS"] = "5";
  CHECK(threads_of_worker(node, LocalRank{0}, 3) == "5");
  CHECK(of_local_rank(node, 0).at("OMP_NUM_THREADS") == "5");
}

TEST_CASE("worker environment: workers of other agents on the node come before and beside") {
  WorkerSetup one = setup();
  one.workers_before = 2;
  one.workers_beside = 3;
  Part alone = part();
  alone.worker_count = 1;
  alone.first_rank = Rank{2};
  const auto variables = [&] { return worker_environment(one, alone, places_in(alone).front()); };
  CHECK(variables().at("LOCAL_RANK") == "2");
  CHECK(variables().at("LOCAL_WORLD_SIZE") == "4");
  CHECK(variables().at("OMP_NUM_THREADS") == "8");  // of the cores that are this agent's
  CHECK_FALSE(variables().contains("DDPRUN_DEVICE"));
  one.gpu_count = 4;
  CHECK(variables().at("DDPRUN_DEVICE") == "2");
  one.gpu_count = 1;  // as Slurm shows it
  CHECK(variables().at("DDPRUN_DEVICE") == "0");
}

}  // namespace
}  // namespace ddprun
