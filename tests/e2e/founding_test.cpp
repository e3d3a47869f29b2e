// How a job of many nodes begins where an earlier one of its name may still run.
#include "tests/e2e/nodes_kit.hpp"

#include <signal.h>

namespace e2e {
namespace {

/// Of one to two nodes, one of which is told to be the head: so the endpoint is its own address.
Words alone_at(const std::string& endpoint) {
  return {"--nnodes", "1:2", "--rdzv-endpoint", endpoint, "--last-call", "100ms"};
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e founding: an elastic line for one host starts with one agent") {
  const Nodes nodes{*this};
  const Job& job = run(Words{"--nnodes=1:2",
                             "--nproc-per-node=2",
                             "--rdzv-backend=c10d",
                             "--rdzv-id=7",
                             "--last-call=100ms",
                             "--rdzv-endpoint=localhost:" + std::to_string(nodes.port)} +
                       shell("echo rank $RANK of $WORLD_SIZE"));
  CHECK(job.status() == 0);
  CHECK(count_of("rank 1 of 2", job.out) == 1);
  // Of --last-call: no longer than that is waited.
  CHECK(count_of("; 0 s left; the last call for more\n", job.err) == 1);
  CHECK(count_of("localhost is an address of every host: only agents of this host can join",
                 job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e founding: agents of one host with one line are one job") {
  const Nodes nodes{*this};
  const Words line =
      Words{"--nnodes=2", "--rdzv-endpoint=localhost:" + std::to_string(nodes.port)} +
      shell("echo rank $RANK of $WORLD_SIZE");
  Job& first = start(line);
  Job& second = start(line);
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 0);
  CHECK(count_of("of 2", first.out) == 1);
  CHECK(count_of("of 2", second.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e founding: only a job that is killed leaves a mark") {
  const Nodes nodes{*this};
  const std::string endpoint = "127.0.0.1:" + std::to_string(nodes.port);
  const std::string folder = "state/none@" + endpoint;
  CHECK(run(alone_at(endpoint) + shell("ls " + folder)).out.find(host()) != std::string::npos);
  CHECK_FALSE(has(folder));
  Job& killed = start(alone_at(endpoint) + shell("echo up; " + stay));
  killed.wait_for_out("up");
  killed.send(SIGKILL);
  (void)killed.wait();
  CHECK(count_of("founded 1\n", read(folder + "/" + host())) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e founding: where no mark can be kept that is said") {
  const Nodes nodes{*this};
  write("file", "");
  const Job& job = run(
      Setup{.arguments = alone_at("127.0.0.1:" + std::to_string(nodes.port)) + shell("echo ran"),
            .environment = {{"DDPRUN_STATE_DIR", "file/state"}}});
  CHECK(job.status() == 0);
  CHECK(count_of("keeps no mark of this job (", job.err) == 1);
}

}  // namespace e2e
