// Jobs of many nodes: their workers form one world, fail together, and outlive what they can.
#include "tests/e2e/nodes_kit.hpp"

#include <signal.h>

namespace e2e {
namespace {

const std::string say_who =
    "echo $DDPRUN_GENERATION: rank $RANK of $WORLD_SIZE, node $GROUP_RANK of $GROUP_WORLD_SIZE, "
    "restart $TORCHELASTIC_RESTART_COUNT, job $DDPRUN_JOB_ID; ";
std::string who(int generation, int rank, int world_size, int node, int nodes) {
  return prefix(rank) + std::to_string(generation) + ": rank " + std::to_string(rank) + " of " +
         std::to_string(world_size) + ", node " + std::to_string(node) + " of " +
         std::to_string(nodes) + ", restart " + std::to_string(generation - 1);
}

/// Three nodes, of which two are enough.
const Words elastic{"--nnodes", "2:3", "--dead-after", "1s"};

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e nodes: the workers of all nodes are one world, and end with success") {
  Nodes nodes{*this};
  const auto jobs = nodes.start_all(3, {"--rdzv-id", "job7"}, say_who);
  for (std::size_t node = 0; node < jobs.size(); ++node) {
    CHECK(jobs[node]->wait() == 0);
    for (int local = 0; local < 2; ++local) {
      const int rank = 2 * static_cast<int>(node) + local;
      CHECK(count_of(who(1, rank, 6, static_cast<int>(node), 3) + ", job job7", jobs[node]->out) ==
            1);
    }
  }
}

TEST_CASE_FIXTURE(Case, "e2e nodes: they find one another in whatever order they start") {
  Nodes nodes{*this};
  Job& late = nodes.start(1, {"--nnodes", "2"}, say_who);
  late.wait_until("an attempt", [&] { return !late.workers(0).empty() || late.agent() > 0; });
  Job& head = nodes.start(0, {"--nnodes", "2"}, say_who);
  CHECK(head.wait() == 0);
  CHECK(late.wait() == 0);
  CHECK(count_of(who(1, 3, 4, 1, 2), late.out) == 1);
}

TEST_CASE_FIXTURE(Case,
                  "e2e nodes: a worker's failure starts all again, and is everybody's status") {
  Nodes nodes{*this};
  const std::string wait_for_all =
      ": > up.$DDPRUN_GENERATION.$RANK; "
      "until [ $(ls up.$DDPRUN_GENERATION.* | wc -l) = 4 ]; do sleep 0.02; done; ";
  const auto jobs = nodes.start_all(
      2,
      {"--max-restarts", "1"},
      say_who + wait_for_all + "[ $RANK = 3 ] && { echo oops >&2; exit 5; }; " + stay);
  for (Job* job : jobs) {
    CHECK(job->wait() == 5);
    CHECK(last_line(job->err) ==
          "exit status 5: rank 3 (pid N on HOST) exited with 5, after 1 of 1 restarts");
  }
  CHECK(count_of(who(2, 0, 4, 0, 2), jobs[0]->out) == 1);
  CHECK(count_of(who(2, 3, 4, 1, 2), jobs[1]->out) == 1);
  // Its last line is told where it ran.
  CHECK(count_of("'s stderr: oops", jobs[0]->err) == 0);
  CHECK(count_of("'s stderr: oops", jobs[1]->err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e nodes: ctrl-C on one ends the job on all") {
  Nodes nodes{*this};
  const auto jobs = nodes.start_all(2, {}, say_who + stay);
  for (Job* job : jobs) job->wait_for_out("restart 0");
  jobs[1]->send(SIGINT);
  for (Job* job : jobs) {
    CHECK(job->wait() == 130);
    CHECK(last_line(job->err) == "exit status 130: stopped by SIGINT (2)");
  }
}

TEST_CASE_FIXTURE(Case, "e2e nodes: the others go on without one that was killed") {
  Nodes nodes{*this};
  std::vector<Job*> jobs;
  for (int node = 0; node < 3; ++node) jobs.push_back(&nodes.start(node, elastic, say_who + stay));
  for (Job* job : jobs) job->wait_for_out("of 6");
  jobs[1]->send(SIGKILL);
  CHECK(jobs[1]->wait() == 137);
  jobs[0]->wait_for_out("rank 0 of 4, node 0 of 2");
  jobs[2]->wait_for_out("rank 2 of 4, node 1 of 2");
  CHECK(count_of("was lost: its ddprun has ended", jobs[0]->err) == 2);  // an end, and a start
  jobs[0]->send(SIGTERM);
  CHECK(jobs[0]->wait() == 143);
  CHECK(jobs[2]->wait() == 143);
}

TEST_CASE_FIXTURE(Case, "e2e nodes: the others elect another head, and the old one takes part") {
  Nodes nodes{*this};
  std::vector<Job*> jobs;
  for (int node = 0; node < 3; ++node) jobs.push_back(&nodes.start(node, elastic, say_who + stay));
  for (Job* job : jobs) job->wait_for_out("of 6");
  jobs[0]->send(SIGKILL);
  CHECK(jobs[0]->wait() == 137);
  jobs[1]->wait_for_out("2: rank 0 of 4, node 0 of 2, restart 1");
  jobs[2]->wait_for_out("2: rank 2 of 4, node 1 of 2, restart 1");
  CHECK(count_of("coordinates the job from now on", jobs[1]->err + jobs[2]->err) == 1);
  Job& again = nodes.start(0, elastic, say_who + stay);
  again.wait_for_out("3: rank");
  jobs[1]->wait_for_out("of 6, node");
  again.send(SIGINT);
  for (Job* job : {&again, jobs[1], jobs[2]}) CHECK(job->wait() == 130);
}

TEST_CASE_FIXTURE(Case, "e2e nodes: the workers of an agent that was stopped die without it") {
  Nodes nodes{*this};
  std::vector<Job*> jobs;
  for (int node = 0; node < 3; ++node) jobs.push_back(&nodes.start(node, elastic, say_who + stay));
  jobs[1]->wait_for_out("of 6");
  const int agent = jobs[1]->agent();
  const auto workers = jobs[1]->workers(2);
  kill(agent, SIGSTOP);
  jobs[0]->wait_for_out("of 4, node 0 of 2");
  for (const int worker : workers) CHECK(state_of(worker) == 'Z');  // nobody reaps them
  kill(agent, SIGCONT);
  jobs[1]->wait_for_out("3: rank");  // it joins again
  jobs[0]->send(SIGINT);
  for (Job* job : jobs) CHECK(job->wait() == 130);
}

TEST_CASE_FIXTURE(Case,
                  "e2e nodes: without the head the others end, and say that one may run again") {
  Nodes nodes{*this};
  const Words patience{"--dead-after", "1s", "--replace-timeout", "1s"};
  const auto jobs = nodes.start_all(2, patience, say_who + stay);
  for (Job* job : jobs) job->wait_for_out("restart 0");
  jobs[0]->send(SIGKILL);
  CHECK(jobs[0]->wait() == 137);
  CHECK(jobs[1]->wait() == 75);
  CHECK(last_line(jobs[1]->err).starts_with("exit status 75: the coordinator was lost: "));
}

TEST_CASE_FIXTURE(Case, "e2e nodes: an agent that goes on before it is lost has failed nobody") {
  Nodes nodes{*this};
  const auto jobs = nodes.start_all(2, {"--dead-after", "4s"}, say_who + stay);
  for (Job* job : jobs) job->wait_for_out("restart 0");
  const int agent = jobs[1]->agent();
  const auto workers = jobs[1]->workers(2);
  kill(agent, SIGSTOP);
  jobs[0]->wait_until("the end of the lease",
                      [&] { return state_of(workers[0]) == 'Z' && state_of(workers[1]) == 'Z'; });
  kill(agent, SIGCONT);
  jobs[0]->wait_for_out("restart 1");  // there is no budget for failures
  CHECK(count_of("was cut off and stopped its workers", jobs[0]->err) == 2);  // an end, and a start
  jobs[0]->send(SIGINT);
  for (Job* job : jobs) CHECK(job->wait() == 130);
}

TEST_CASE_FIXTURE(Case, "e2e nodes: a head that starts again ends what ran under the one before") {
  Nodes nodes{*this};
  const auto jobs = nodes.start_all(2, {}, say_who + stay);
  for (Job* job : jobs) job->wait_for_out("restart 0");
  const auto workers = jobs[1]->workers(2);
  jobs[0]->send(SIGKILL);
  CHECK(jobs[0]->wait() == 137);
  Job& again = nodes.start(0, {"--nnodes", "2"}, say_who + stay);
  again.wait_for_out("1: rank 0 of 4");
  for (const int worker : workers) CHECK(state_of(worker) == ' ');
  again.send(SIGTERM);
  CHECK(again.wait() == 143);
  CHECK(jobs[1]->wait() == 143);
}

TEST_CASE_FIXTURE(Case, "e2e nodes: where the folder for claims makes no links, nodes vote") {
  Nodes nodes{*this};
  std::vector<Job*> jobs;
  for (int node = 0; node < 2; ++node) {
    Setup setup = nodes.setup(node, {"--nnodes", "2", "--claim-dir", "shared"}, say_who);
    setup.arguments = Words{"without-link", E2E_DDPRUN} + setup.arguments;
    setup.program = E2E_HELPER;
    jobs.push_back(&start(setup));
  }
  for (Job* job : jobs) CHECK(job->wait() == 0);
  CHECK(count_of(", since link(2) fails in ", jobs[0]->err) == 1);
  CHECK(count_of("Operation not permitted", jobs[0]->err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e nodes: why a claim fails is said once, with the folder") {
  Nodes nodes{*this};
  const Words options{"--claim-dir", "shared", "--rdzv-id", "j", "--dead-after", "1s"};
  const auto jobs =
      nodes.start_all(2,
                      options + Words{"--max-restarts", "1", "--replace-timeout", "3s"},
                      say_who + "until [ -e fail ]; do sleep 0.05; done; exit 3");
  for (Job* job : jobs) job->wait_for_out("restart 0");
  const std::string place = "shared/.ddprun/j@127.0.0.1:" + std::to_string(nodes.port);
  for (const std::string& name : names_in(place)) {
    if (name.starts_with("proof.")) std::filesystem::remove(folder() / place / name);
  }
  write("fail", "");
  for (Job* job : jobs) CHECK(job->wait() == 75);
  const std::string why = "cannot claim the job: " + (folder() / place).string() +
                          " lacks the proof of this job; repair that folder";
  CHECK(count_of(why, jobs[0]->err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e nodes: the one that claims ends with its own coordinator's verdict") {
  for (const std::size_t lost : {1U, 0U}) {
    CAPTURE(lost);
    Nodes nodes{*this};
    const Words options{"--claim-dir", "shared", "--rdzv-id", std::to_string(lost)};
    const auto jobs = nodes.start_all(
        2, options + Words{"--dead-after", "1s", "--replace-timeout", "2s"}, say_who + stay);
    for (Job* job : jobs) job->wait_for_out("restart 0");
    jobs[lost]->send(SIGKILL);
    CHECK(jobs[lost]->wait() == 137);
    Job& left = *jobs[1 - lost];
    CHECK(left.wait() == 75);
    CHECK(count_of("was lost", last_line(left.err)) == 1);
    CHECK(count_of("1 of at least 2 nodes joined", last_line(left.err)) == 1);
    const bool led = lost == 1;
    CHECK(count_of("too few voters answer this node", left.err) == (led ? 1 : 0));
    CHECK(count_of("no answer from the coordinator", left.err) == (led ? 0 : 1));
  }
}

TEST_CASE_FIXTURE(Case, "e2e nodes: a coordinator may run without workers of its own") {
  Nodes nodes{*this};
  const std::string endpoint = "127.0.0.1:" + std::to_string(nodes.port);
  Job& coordinator = start(Words{"coordinator", "--nnodes", "2", "--rdzv-endpoint", endpoint});
  const Words options{"--nnodes", "2", "--rdzv-conf", "is_host=no"};
  Job& first = nodes.start(0, options, say_who + stay);
  Job& second = nodes.start(1, options, say_who + stay);
  first.wait_for_out(who(1, 0, 4, 0, 2));
  second.wait_for_out(who(1, 2, 4, 1, 2));
  coordinator.send(SIGTERM);
  for (Job* job : {&coordinator, &first, &second}) CHECK(job->wait() == 143);
}

TEST_CASE_FIXTURE(Case, "e2e nodes: a coordinator ends with the status of the job") {
  for (const int status : {0, 5}) {
    CAPTURE(status);
    Nodes nodes{*this};
    const std::string endpoint = "127.0.0.1:" + std::to_string(nodes.port);
    Job& coordinator = start(Words{"coordinator", "--nnodes", "2", "--rdzv-endpoint", endpoint});
    const std::string program = "[ $RANK = 3 ] && exit " + std::to_string(status) + "; true";
    const Words options{"--nnodes", "2", "--rdzv-conf", "is_host=no"};
    Job& first = nodes.start(0, options, program);
    Job& second = nodes.start(1, options, program);
    for (Job* job : {&coordinator, &first, &second}) CHECK(job->wait() == status);
    const std::string last = "exit status 5: rank 3 (pid N on HOST) exited with 5";
    if (status != 0) CHECK(last_line(coordinator.err) == last);
  }
}

TEST_CASE_FIXTURE(Case, "e2e nodes: a coordinator without nodes ends when it is asked to") {
  Nodes nodes{*this};
  const std::string endpoint = "127.0.0.1:" + std::to_string(nodes.port);
  Job& coordinator = start(Words{"coordinator", "--nnodes", "2", "--rdzv-endpoint", endpoint});
  coordinator.wait_for_err("coordinating job");
  coordinator.send(SIGINT);
  CHECK(coordinator.wait() == 130);
  CHECK(last_line(coordinator.err).starts_with("exit status 130: stopped by SIGINT (2)"));
}

TEST_CASE_FIXTURE(Case, "e2e nodes: they go on without a coordinator, which takes part again") {
  Nodes nodes{*this};
  const Words options{"--nnodes", "1:2", "--dead-after", "1s"};
  const Words words = Words{"coordinator", "--rdzv-endpoint"} +
                      Words{"127.0.0.1:" + std::to_string(nodes.port)} + options;
  Job& coordinator = start(words);
  const Words of_nodes = options + Words{"--rdzv-conf", "is_host=no"};
  Job& first = nodes.start(0, of_nodes, say_who + stay);
  Job& second = nodes.start(1, of_nodes, say_who + stay);
  for (Job* job : {&first, &second}) job->wait_for_out("of 4");
  coordinator.send(SIGKILL);
  CHECK(coordinator.wait() == 137);
  for (Job* job : {&first, &second}) job->wait_for_out("2: rank");
  Job& again = start(words);
  again.wait_for_err("joins the job that is already running");
  first.wait_until("that it is known",
                   [&] { return count_of(" is a witness", first.err + second.err) == 1; });
  first.send(SIGINT);
  for (Job* job : {&again, &first, &second}) CHECK(job->wait() == 130);
}

}  // namespace e2e
