// Which cores workers may use, as Linux says.
#include "tests/e2e/kit.hpp"

#include <sched.h>

#include <algorithm>

namespace e2e {
namespace {

/// That this process, and so ddprun, may use.
std::vector<int> own_cores() {
  cpu_set_t mask;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(static_cast<int>(core));
  }
  return cores;
}

/// What a grandchild finds of its cores and threads.
const Words shows_cores = shell(
    "sh -c 'echo cores $(grep Cpus_allowed_list /proc/self/status | cut -f2) "
    "threads $OMP_NUM_THREADS; true'");

std::string line_of(int rank, const std::string& cores, std::size_t threads) {
  return prefix(rank) + "cores " + cores + " threads " + std::to_string(threads) + "\n";
}

/// As ddprun is told by a shell that may use one core only.
Words on_core(int core, const Words& arguments) {
  return Words{"-c", std::to_string(core), E2E_DDPRUN} + arguments;
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e binding: a worker and what it starts have the listed cores") {
  const std::vector<int> cores = own_cores();
  REQUIRE_FALSE(cores.empty());
  const std::string first = std::to_string(cores.front());
  const std::string last = std::to_string(cores.back());
  const Job& job =
      run(Words{"--nproc-per-node", "2", "--cpu-bind", first + ":" + last} + shows_cores);
  CHECK(job.status() == 0);
  CHECK(count_of(line_of(0, first, 1), job.out) == 1);
  CHECK(count_of(line_of(1, last, 1), job.out) == 1);
  const bool is_one = first == last;
  CHECK(count_of(is_one ? host() + ": workers 0-1 have core " + first + "\n"
                        : host() + ": worker 0 has core " + first + "; worker 1 has core " + last,
                 job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e binding: torchrun's modes bind, and never to more than is allowed") {
  const int core = own_cores().back();
  for (const char* mode : {"node", "socket", "exclusive", "core-complex"}) {
    CAPTURE(mode);
    const Job& job =
        run(Setup{.arguments = on_core(core, Words{"--numa-binding", mode} + shows_cores),
                  .program = "/usr/bin/taskset"});
    CAPTURE(job.err);
    CHECK(job.status() == 0);
    CHECK(count_of(line_of(0, std::to_string(core), 1), job.out) == 1);
  }
}

TEST_CASE_FIXTURE(Case, "e2e binding: workers have the cores that the dry run has shown") {
  const std::vector<int> cores = own_cores();
  const Words arguments = Words{"--nproc-per-node", "1", "--numa-binding", "exclusive"};
  const Job& dry = run(arguments + Words{"--dry-run"} + shows_cores);
  const Job& job = run(arguments + shows_cores);
  REQUIRE(lines_of(job.out).size() == 1);
  const std::string line = lines_of(job.out).front();
  const std::size_t begin = prefix(0).size() + std::string("cores ").size();
  const std::string shown = line.substr(begin, line.find(' ', begin) - begin);
  CHECK(count_of("taskset --cpu-list " + shown + " ", dry.out) == 1);
  CHECK_FALSE(shown.empty());
}

TEST_CASE_FIXTURE(Case, "e2e binding: more workers than cores of their own are refused") {
  const int core = own_cores().front();
  const Job& job = run(
      Setup{.arguments = on_core(core, Words{"--nproc-per-node=2", "--cpu-bind=core", "/bin/true"}),
            .program = "/usr/bin/taskset"});
  CHECK(job.status() == 2);
  CHECK(count_of("--cpu-bind: 'core' from the command line gives each worker cores of its own, but "
                 "2 workers have 1 physical core: " +
                     std::to_string(core),
                 job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e binding: no core is left, or both options are given: status 2") {
  CHECK(run({"--cpu-bind=9999", "/bin/true"}).status() == 2);
  CHECK(run({"--cpu-bind=numa", "--numa-binding=node", "/bin/true"}).status() == 2);
}

}  // namespace e2e
