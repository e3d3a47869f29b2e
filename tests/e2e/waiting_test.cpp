// A node that waits says for what: the first time after 3 s.
#include "tests/e2e/nodes_kit.hpp"

#include <signal.h>

namespace e2e {

TEST_CASE_FIXTURE(Case, "e2e waiting: for a coordinator that does not answer") {
  Nodes nodes{*this};
  Job& alone = nodes.start(1, {"--nnodes", "2"}, stay);
  alone.wait_for_err("waiting 3 s for a coordinator: ");
  CHECK(count_of("Connection refused", alone.err) == 1);
  alone.send(SIGINT);
  CHECK(alone.wait() == 130);
}

TEST_CASE_FIXTURE(Case, "e2e waiting: for a host that nobody knows") {
  Job& alone =
      start(Words{"--nnodes", "2", "--node-rank", "1", "--rdzv-endpoint", "nosuch.invalid:29500"} +
            Words{"--insecure"} + shell(stay));
  alone.wait_for_err("waiting 3 s for a coordinator: ");
  CHECK(count_of("nosuch.invalid", alone.err) >= 1);
  alone.send(SIGINT);
  CHECK(alone.wait() == 130);
}

TEST_CASE_FIXTURE(Case,
                  "e2e waiting: the head for nodes, and a node that has joined for the start") {
  Nodes nodes{*this};
  Job& head = nodes.start(0, {"--nnodes", "3"}, stay);
  head.wait_for_err("coordinating");
  Job& member = nodes.start(1, {"--nnodes", "3"}, stay);
  head.wait_for_err("waiting 3 s for nodes: ");
  CHECK(count_of("waiting 3 s for nodes: 2 of 3 have joined: ", plain(head.err)) == 1);
  member.wait_for_err("waiting 3 s for the coordinator to start a generation");
  member.send(SIGINT);
  CHECK(head.wait() == 130);
  CHECK(member.wait() == 130);
}

TEST_CASE_FIXTURE(Case, "e2e waiting: for workers that take long to end") {
  const std::string ignores_term = "trap '' TERM; echo up; while :; do read line <fifo; done";
  Job& job = start(Words{"--grace", "10s"} + shell("mkfifo fifo; " + ignores_term));
  job.wait_for_out("up");
  job.send(SIGTERM);
  job.wait_for_err("waiting 3 s for rank 0 to end, or SIGKILL in 7 s");
  job.send(SIGINT);
  CHECK(job.wait() == 143);
}

}  // namespace e2e
