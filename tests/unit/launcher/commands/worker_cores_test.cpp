#include "launcher/commands/worker_cores.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

/// Two NUMA nodes of two cores each.
Topology two_nodes() {
  Topology topology;
  topology.nodes = {{0, {0, 1}}, {1, {2, 3}}};
  for (int core = 0; core < 4; ++core) topology.cores[core] = {0, core, -1};
  return topology;
}

Job bound_job(Binding binding, int worker_count) {
  Job job;
  job.options.worker_count = worker_count;
  job.options.binding.binding = binding;
  return job;
}

/// One of four tasks on the node, by its number.
Job task_of_four(Binding binding, int number) {
  Job job = bound_job(binding, 1);
  job.options.allocation = Allocation{};
  job.options.allocation->situation = Situation::task;
  job.options.allocation->task_count = 4;
  job.options.allocation->tasks_here = 4;
  job.options.allocation->local_task = number;
  job.setup.workers_before = number;
  return job;
}

using Sets = std::vector<CoreSet>;

TEST_CASE("worker cores: a GPU's node is its worker's, more workers than GPUs begin again") {
  Job job = bound_job(Binding::node, 3);
  job.options.gpus.count = 2;
  job.options.gpus.numa_nodes = {1, 0};
  REQUIRE(give_cores({}, {0, 1, 2, 3}, two_nodes(), job).has_value());
  CHECK(job.setup.cores == Sets{{2, 3}, {0, 1}, {2, 3}});
  CHECK(job.setup.threads == std::vector<int>{1, 2, 1});
}

TEST_CASE("worker cores: without a binding nothing is set, and an error comes through") {
  Job job = bound_job(Binding::none, 2);
  REQUIRE(give_cores({}, {0, 1}, {}, job).has_value());
  CHECK(job.setup.cores.empty());
  CHECK(job.setup.threads.empty());
  Job crowded = bound_job(Binding::exclusive, 5);
  CHECK_FALSE(give_cores({}, {0, 1, 2, 3}, two_nodes(), crowded).has_value());
}

TEST_CASE("worker cores: a quota limits the threads, and not the cores") {
  Job job = bound_job(Binding::node, 2);
  REQUIRE(give_cores({}, {0, 1, 2, 3}, two_nodes(), job).has_value());
  CHECK(job.setup.threads == std::vector<int>{2, 2});
  job.setup.core_count = 6;
  limit_threads(job);
  CHECK(job.setup.threads == std::vector<int>{2, 2});
  job.setup.core_count = 3;
  limit_threads(job);
  CHECK(job.setup.threads == std::vector<int>{1, 1});
  CHECK(job.setup.cores == Sets{{0, 1}, {2, 3}});
  job.setup.core_count = 1;
  limit_threads(job);
  CHECK(job.setup.threads == std::vector<int>{1, 1});
}

TEST_CASE("worker cores: tasks that share the step's cores take a part each") {
  for (int task = 0; task < 4; ++task) {
    Job job = task_of_four(Binding::exclusive, task);
    REQUIRE(give_cores({}, {0, 1, 2, 3}, two_nodes(), job).has_value());
    CHECK(job.setup.cores == Sets{{task}});
    Job on_node = task_of_four(Binding::node, task);
    REQUIRE(give_cores({}, {0, 1, 2, 3}, two_nodes(), on_node).has_value());
    CHECK(on_node.setup.cores == Sets{task < 2 ? CoreSet{0, 1} : CoreSet{2, 3}});
    CHECK(on_node.setup.threads == std::vector<int>{1});
  }
}

TEST_CASE("worker cores: a task that Slurm has bound chooses among its own") {
  Job job = task_of_four(Binding::exclusive, 2);
  REQUIRE(give_cores({{"SLURM_CPUS_ON_NODE", "8"}}, {2, 3}, two_nodes(), job).has_value());
  CHECK(job.setup.cores == Sets{{2, 3}});
  CHECK(job.setup.threads == std::vector<int>{2});
}

TEST_CASE("worker cores: a task takes the list of its own number") {
  Job job = task_of_four(Binding::listed, 1);
  job.options.binding.lists = {{0}, {1, 2}, {3}};
  REQUIRE(give_cores({}, {0, 1, 2, 3}, {}, job).has_value());
  CHECK(job.setup.cores == Sets{{1, 2}});
  Job last = task_of_four(Binding::listed, 3);
  last.options.binding.lists = {{0}, {1, 2}, {3}};
  CHECK_FALSE(give_cores({}, {0, 1, 2, 3}, {}, last).has_value());
}

}  // namespace
}  // namespace ddprun
