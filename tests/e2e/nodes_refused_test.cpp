// Nodes that cannot meet say why: too few, another job, another number of nodes, no secret.
#include "tests/e2e/nodes_kit.hpp"

#include <signal.h>

#include <fstream>

namespace e2e {
namespace {

const std::string token(64, 'a');

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e nodes refused: too few in time end with 69 and say who is there") {
  Nodes nodes{*this};
  const Words options{"--nnodes", "3", "--join-timeout", "500ms"};
  Job& head = nodes.start(0, options, stay);
  Job& other = nodes.start(1, Words{"--nnodes", "3"}, stay);
  CHECK(head.wait() == 69);
  CHECK(other.wait() == 69);
  CHECK(last_line(head.err).starts_with("exit status 69: "));
  CHECK(count_of("of at least 3 nodes joined: ", head.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e nodes refused: a job's number that can name no job is told") {
  Nodes nodes{*this};
  Setup setup = nodes.setup(0, {"--nnodes", "2"}, stay);
  setup.environment["SLURM_JOB_ID"] = "../a";
  const Job& job = run(setup);
  CHECK(job.status() == 2);
  CHECK(count_of("--rdzv-id: '../a' from SLURM_JOB_ID is no name for a job; write ", job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e nodes refused: without a coordinator a node ends with 69") {
  Nodes nodes{*this};
  const Job& alone = run(nodes.setup(1, {"--nnodes", "2", "--join-timeout", "500ms"}, stay));
  CHECK(alone.status() == 69);
  CHECK(count_of("there is no coordinator: ", alone.err) == 1);
  CHECK(count_of("Connection refused", alone.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e nodes refused: ctrl-C ends a node that waits for a coordinator") {
  Nodes nodes{*this};
  Job& alone = nodes.start(1, {"--nnodes", "2"}, stay);
  CHECK(alone.agent() > 0);
  alone.send(SIGINT);
  CHECK(alone.wait() == 130);
  CHECK(
      last_line(alone.err).starts_with("exit status 130: stopped by SIGINT (2); this node was "
                                       "waiting for a coordinator: "));
}

TEST_CASE_FIXTURE(Case, "e2e nodes refused: a node of another job, or of more nodes, is told so") {
  Nodes nodes{*this};
  Job& head = nodes.start(0, {"--nnodes", "2", "--rdzv-id", "one"}, stay);
  head.wait_for_err("coordinating job one");
  Job& stranger = nodes.start(1, {"--nnodes", "2", "--rdzv-id", "two"}, stay);
  CHECK(stranger.wait() == 69);
  CHECK(count_of("it belongs to another job than 'two'; check the job's id and the coordinator's "
                 "host and port; asking again for 10 s",
                 stranger.err) == 1);
  CHECK(count_of("it belongs to another job than 'two'", last_line(stranger.err)) == 1);
  Job& larger = nodes.start(1, {"--nnodes", "3", "--rdzv-id", "one"}, stay);
  CHECK(larger.wait() == 69);
  CHECK(count_of("was started with --nnodes 3:3, the coordinator with 2:2", larger.err) == 1);
  head.send(SIGINT);
  CHECK(head.wait() == 130);
}

TEST_CASE_FIXTURE(Case, "e2e nodes refused: a stranger at the endpoint ends nobody at once") {
  Nodes nodes{*this};
  Job& stranger = nodes.start(0, {"--nnodes", "2", "--rdzv-id", "another"}, stay);
  stranger.wait_for_err("coordinating job another");
  Job& member = nodes.start(1, {"--nnodes", "2", "--rdzv-id", "own"}, "echo works");
  member.wait_for_err("asking again for 10 s, since nothing proves who said so");
  stranger.send(SIGINT);
  CHECK(stranger.wait() == 130);
  Job& head = nodes.start(0, {"--nnodes", "2", "--rdzv-id", "own"}, "echo works");
  CHECK(member.wait() == 0);
  CHECK(head.wait() == 0);
  CHECK(count_of("works", member.out + head.out) == 4);
}

TEST_CASE_FIXTURE(Case, "e2e nodes refused: of two with one --node-rank the second is told so") {
  Nodes nodes{*this};
  const Words options{"--nnodes", "3", "--join-timeout", "2s"};
  Job& head = nodes.start(0, options, stay);
  Job& first = nodes.start(1, options, stay);
  head.wait_for_err("2 of 3 nodes joined");
  Job& second = nodes.start(1, options, stay);
  for (Job* job : {&head, &first, &second}) CHECK(job->wait() == 69);
  const std::string why =
      host() + " asks for the place of node 1, which another agent of " + host() + " has";
  CHECK(last_line(second.err).starts_with("exit status 69: " + why));  // the head may be gone, too
}

TEST_CASE_FIXTURE(Case, "e2e nodes refused: with a token only those who have it take part") {
  Nodes nodes{*this};
  // Of the worker, its agent and that one's guard.
  const std::string see =
      "guard=$(cut -d ' ' -f 4 /proc/$PPID/stat); echo $(cat "
      "/proc/self/environ /proc/$PPID/environ /proc/$guard/environ | grep -c " +
      token + ") $(env | grep -c DDPRUN_TOKEN); ";
  Setup setup = nodes.setup(0, {"--nnodes", "2"}, see + stay);
  setup.environment["DDPRUN_TOKEN"] = token;
  Job& head = start(setup);
  head.wait_for_err("coordinating job");
  CHECK(count_of("not authenticated", head.err) == 0);
  const Job& stranger = run(nodes.setup(1, {"--nnodes", "2"}, stay));
  CHECK(stranger.status() == 69);
  CHECK(count_of("token", stranger.err) >= 1);
  setup = nodes.setup(1, {"--nnodes", "2"}, see + stay);
  write("token", token + "\n");
  std::filesystem::permissions(folder() / "token", std::filesystem::perms(0600));
  setup.environment["DDPRUN_TOKEN_FILE"] = (folder() / "token").string();
  Job& member = start(setup);
  member.wait_for_out(prefix(3) + "0 0\n");  // no worker sees it
  head.wait_for_out(prefix(1) + "0 0\n");
  CHECK(count_of(token.substr(0, 8), head.err + head.out + member.err + stranger.err) == 0);
  head.send(SIGTERM);
  CHECK(head.wait() == 143);
  CHECK(member.wait() == 143);
}

TEST_CASE_FIXTURE(Case,
                  "e2e nodes refused: what cannot be a place to meet is said before anything") {
  const Words program{"/bin/true"};
  const Job& nowhere = run(Words{"--nnodes", "2"} + program);
  CHECK(nowhere.status() == 2);
  CHECK(count_of("--nnodes: '2' from the command line needs an endpoint where", nowhere.err) == 1);
  const Job& secret = run(
      Words{
          "--nnodes", "2", "--rdzv-endpoint", "127.0.0.1", "--node-rank", "0", "--require-token"} +
      program);
  CHECK(secret.status() == 2);
  CHECK(count_of("--require-token: there is no token", secret.err) == 1);
  const Job& idle = run(Words{"coordinator"} + program);
  CHECK(idle.status() == 2);
  CHECK(count_of("ddprun coordinator starts no program", idle.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e nodes refused: a place that no node of the job has is an error") {
  const Job& alone =
      run(Setup{.arguments = {"/bin/true"}, .environment = {{"PET_NODE_RANK", "1"}}});
  CHECK(alone.status() == 2);
  CHECK(alone.err ==
        "ddprun: --node-rank: '1' from PET_NODE_RANK is beyond the 1 node of the job; write 0, or "
        "raise --nnodes\n");
  Nodes nodes{*this};
  const Job& third = run(nodes.setup(2, {"--nnodes", "1:2"}, stay));
  CHECK(third.status() == 2);
  CHECK(count_of("'2' from the command line is beyond the 2 nodes of the job", third.err) == 1);
}

}  // namespace e2e
