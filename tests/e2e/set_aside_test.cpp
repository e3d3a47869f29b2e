// Nodes that the others go on without although they live.
#include "tests/e2e/nodes_kit.hpp"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cstddef>

namespace e2e {
namespace {

/// Three nodes, of which two are enough.
const Words two_of_three{"--nnodes", "2:3", "--max-restarts", "9", "--restart-backoff", "0"};

/// A process that SIGKILL stops on its way out, as a device or a file system would that never
/// answers, for as long as this is here.
class Stuck {
 public:
  explicit Stuck(int pid) : pid_(pid) {
    held_ = ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXIT) == 0;
    if (!held_) MESSAGE("skipped: this system lets nobody trace");
  }
  ~Stuck() {
    if (!held_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, __WALL);  // its way out
    ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
  }
  Stuck(const Stuck&) = delete;
  Stuck& operator=(const Stuck&) = delete;

  [[nodiscard]] bool held() const { return held_; }

 private:
  int pid_;
  bool held_ = false;
};

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e set aside: the others go on without a node that fails three times") {
  Nodes nodes{*this};
  std::vector<Job*> jobs;
  const std::string program =
      "[ $GROUP_WORLD_SIZE = 2 ] && exit 0; [ $GROUP_RANK = 2 ] && exit 7; " + stay;
  for (int node = 0; node < 3; ++node) jobs.push_back(&nodes.start(node, two_of_three, program));
  for (Job* job : jobs) CHECK(job->wait() == 0);
  CHECK(count_of(": generation ", jobs[0]->err) == 4);
  CHECK(count_of(": generation ", jobs[2]->err) == 3);
  CHECK(count_of(" is set aside: workers there were 3 times the first to fail\n", jobs[0]->err) ==
        1);
}

TEST_CASE_FIXTURE(Case, "e2e set aside: nobody waits for a worker that SIGKILL does not end") {
  Nodes nodes{*this};
  std::vector<Job*> jobs;
  const std::string program = "echo world $WORLD_SIZE; " + stay;
  for (int node = 0; node < 3; ++node) jobs.push_back(&nodes.start(node, two_of_three, program));
  for (Job* job : jobs) job->wait_for_out("world 6");
  const Stuck stuck(jobs[2]->workers(2)[0]);
  if (!stuck.held()) return;
  kill(jobs[1]->workers(2)[0], SIGKILL);
  for (const std::size_t node : {0U, 1U}) jobs[node]->wait_for_out("world 4");
  CHECK(count_of(" of generation 1 on " + host() +
                     ": still there 5 s after SIGKILL, stuck inside "
                     "the kernel, on a device or a file system; the node is set aside\n",
                 jobs[0]->err) == 1);
  jobs[0]->send(SIGTERM);
  for (const std::size_t node : {0U, 1U}) CHECK(jobs[node]->wait() == 143);
  CHECK(jobs[2]->wait() == 71);
  CHECK(count_of("exit status 71: rank ", jobs[2]->err) == 1);
  CHECK(count_of("; the job: stopped by SIGTERM (15)\n", jobs[2]->err) == 1);
}

}  // namespace e2e
