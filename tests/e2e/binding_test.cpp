// Which cores workers may use, as Linux says.
#include "tests/e2e/kit.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace e2e {
namespace {

/// The first of each physical core's hyperthreads among them.
std::vector<int> own_physical_cores() {
  std::vector<int> cores;
  std::set<std::string> seen;
  for (const int core : own_cores()) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(core) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    std::getline(file, siblings);
    if (seen.insert(siblings).second) cores.push_back(core);
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

/// A control group that leaves its processes the time of one core and a half, gone with this.
class HalvedGroup {
 public:
  HalvedGroup() {
    const std::string name = "/ddprun-e2e-" + std::to_string(::getpid());
    for (const std::string& mount :
         {std::string("/sys/fs/cgroup/cpu"), std::string("/sys/fs/cgroup")}) {
      std::error_code error;
      folder_ = mount + name;
      if (!std::filesystem::create_directory(folder_, error)) continue;
      const auto limited_by = std::ios::in | std::ios::out;  // makes no file of that name
      std::fstream(folder_ + "/cpu.cfs_quota_us", limited_by) << 150'000;
      std::fstream(folder_ + "/cpu.max", limited_by) << "150000 100000";
      std::ifstream new_limit(folder_ + "/cpu.max");
      std::ifstream old_limit(folder_ + "/cpu.cfs_quota_us");
      int quota = 0;
      has_limit_ = (new_limit >> quota || old_limit >> quota) && quota == 150'000;
      if (has_limit_) return;
      ::rmdir(folder_.c_str());
    }
  }
  ~HalvedGroup() { ::rmdir(folder_.c_str()); }
  HalvedGroup(const HalvedGroup&) = delete;
  HalvedGroup& operator=(const HalvedGroup&) = delete;

  [[nodiscard]] bool has_limit() const { return has_limit_; }
  [[nodiscard]] std::string members() const { return folder_ + "/cgroup.procs"; }

 private:
  std::string folder_;
  bool has_limit_ = false;
};

/// For taskset: ddprun as a shell starts it that may use these cores only.
Words on_cores(const std::string& cores, const Words& arguments) {
  return Words{"-c", cores, E2E_DDPRUN} + arguments;
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
  const std::string core = std::to_string(own_cores().back());
  const std::string placement = host() + ": worker 0 has core " + core + "\n";
  for (const char* mode : {"node", "socket", "exclusive", "core-complex"}) {
    CAPTURE(mode);
    const Job& job =
        run(Setup{.arguments = on_cores(core, Words{"--numa-binding", mode} + shows_cores),
                  .program = "/usr/bin/taskset"});
    CAPTURE(job.err);
    CHECK(job.status() == 0);
    CHECK(count_of(line_of(0, core, 1), job.out) == 1);
    CHECK(count_of(placement, job.err) == 1);
  }
}

TEST_CASE_FIXTURE(Case, "e2e binding: torchrun's exclusive gives no core to two workers") {
  const std::vector<int> cores = own_physical_cores();
  if (cores.size() < 2) {
    MESSAGE("skipped: this process may use one physical core only");
    return;
  }
  const std::string first = std::to_string(cores[0]);
  const std::string second = std::to_string(cores[1]);
  const Words arguments{"--nproc-per-node=2", "--numa-binding=exclusive"};
  const Job& job = run(Setup{.arguments = on_cores(first + "," + second, arguments + shows_cores),
                             .program = "/usr/bin/taskset"});
  CAPTURE(job.err);
  CHECK(job.status() == 0);
  CHECK(count_of(line_of(0, first, 1), job.out) == 1);
  CHECK(count_of(line_of(1, second, 1), job.out) == 1);
  CHECK(count_of(host() + ": worker 0 has core " + first + "; worker 1 has core " + second,
                 job.err) == 1);
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
  const std::string core = std::to_string(own_cores().front());
  const Job& job = run(Setup{
      .arguments = on_cores(core, Words{"--nproc-per-node=2", "--cpu-bind=core", "/bin/true"}),
      .program = "/usr/bin/taskset"});
  CHECK(job.status() == 2);
  CHECK(count_of("--cpu-bind: 'core' from the command line gives each worker cores of its own, but "
                 "2 workers have 1 physical core: " +
                     core,
                 job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e binding: no core is left, or both options are given: status 2") {
  CHECK(run({"--cpu-bind=9999", "/bin/true"}).status() == 2);
  CHECK(run({"--cpu-bind=numa", "--numa-binding=node", "/bin/true"}).status() == 2);
}

TEST_CASE_FIXTURE(Case, "e2e binding: cores whose time a control group denies do not count") {
  const HalvedGroup group;
  if (!group.has_limit() || core_count() < 2) {
    MESSAGE("skipped: no control group can be made here, or there is one core only");
    return;
  }
  const auto run_in_group = [&](const std::string& options) -> const Job& {
    const std::string text = "echo $$ > " + group.members() + " && exec " E2E_DDPRUN " " + options +
                             " sh -c 'echo $OMP_NUM_THREADS'";
    return run(Setup{.arguments = {"-c", text}, .program = "/bin/sh"});
  };
  const Job& job = run_in_group("--nproc-per-node=cpu");
  CHECK(job.status() == 0);
  CHECK(job.out == prefix(0) + "1\n");
  CHECK(count_of(": 1 worker on " + host() + ", OMP_NUM_THREADS=1 each of 1 cores\n", job.err) ==
        1);
  const std::string cores =
      std::to_string(own_cores().front()) + "," + std::to_string(own_cores().back());
  const Job& bound = run_in_group("--cpu-bind=" + cores);
  CHECK(bound.status() == 0);
  CHECK(bound.out == prefix(0) + "1\n");
  CHECK(count_of("worker 0 has cores ", bound.err) == 1);
}

}  // namespace e2e
