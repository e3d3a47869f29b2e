// Jobs that cannot begin, and what is said then.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <utility>

namespace hosts {
namespace {

using std::chrono::milliseconds;

bool says(const Program& program, const std::string& text) {
  return e2e::count_of(text, program.err()) > 0;
}

/// A node with another option is refused, says why in these words, and does the others no harm.
void expect_refusal(const Options& common, const Options& other, const Words& reasons) {
  Training job(3, common);
  const Program& first = job.start(0);
  job.wait_until("the first head coordinates", [&] { return says(first, "coordinating job"); });
  Program& refused = job.start(2, other);
  CHECK(refused.wait() != 0);
  for (const std::string& reason : reasons) CHECK_MESSAGE(says(refused, reason), refused.err());
  job.start(1);
  CHECK(count_on(job[2], job.generation(1, 4)) == 0);
  job.finish();
  for (const int host : {0, 1}) CHECK(job.agent_of(host).wait() == 0);
}

}  // namespace

TEST_CASE("hosts: a node of another job is refused and told its own job's name") {
  if (!can_hold_hosts()) return;
  expect_refusal(
      {{"nnodes", "2"}, {"rdzv-id", "apple"}},
      {{"rdzv-id", "banana"}},
      {"'banana'", "job's id"});  // whoever does not know the other name must not learn it
}

TEST_CASE("hosts: a node that expects another number of nodes is refused and told both") {
  if (!can_hold_hosts()) return;
  expect_refusal({{"nnodes", "2"}}, {{"nnodes", "4"}}, {"nnodes", "2", "4"});
}

TEST_CASE("hosts: a second head is refused, founds no other job and is told who the first is") {
  if (!can_hold_hosts()) return;
  for (const char* nodes : {"2", "1:2"}) {
    CAPTURE(nodes);
    expect_refusal({{"nnodes", nodes}},
                   {{"node-rank", "0"}},
                   {"n2 asks for the place of node 0, which the coordinator's host n0 has"});
  }
}

TEST_CASE("hosts: without a token several hosts are refused, but with --insecure and as torchrun") {
  if (!can_hold_hosts()) return;
  Cluster cluster(1);
  const auto run = [&](const std::string& program, const Words& options) -> Program& {
    Words words{program, "--nnodes=2", "--rdzv-endpoint=n0"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--join-timeout=1s", "--no-python", "/bin/true"});
    return cluster[0].run(words);
  };
  Program& refused = run(E2E_DDPRUN, {});
  CHECK(refused.wait() == 2);
  CHECK(says(refused, "a job of several hosts has no token: anyone who reaches n0:29400 could"));
  CHECK(says(refused, "\n    (umask 077; openssl rand -hex 32 > ~/.ddprun-token)  # once"));
  CHECK(says(refused, "\n    export DDPRUN_TOKEN_FILE=~/.ddprun-token  # on each node\n"));
  const std::string torchrun = cluster.test().folder() / "torchrun";
  std::filesystem::create_symlink(E2E_DDPRUN, torchrun);
  for (const auto& [program, options] :
       {std::pair{std::string(E2E_DDPRUN), Words{"--insecure"}}, std::pair{torchrun, Words{}}}) {
    Program& warned = run(program, options);
    CHECK(warned.wait() == status_no_rendezvous);
    CHECK_MESSAGE(says(warned, "not authenticated"), warned.err());
  }
  Program& both = run(E2E_DDPRUN, {"--insecure", "--require-token"});
  CHECK(both.wait() == 2);
  CHECK(says(both, "--require-token: there is no token"));
}

TEST_CASE("hosts: a founder that may not listen at its port ends at once, and looks for no job") {
  if (!can_hold_hosts()) return;
  Cluster cluster(1);
  Program& ended = cluster[0].run({"setpriv",
                                   "--reuid=54321",
                                   "--clear-groups",
                                   E2E_DDPRUN,
                                   "--insecure",
                                   "--nnodes=1:2",
                                   "--node-rank=0",
                                   "--rdzv-endpoint=n0:80",
                                   "--no-python",
                                   "/bin/true"});
  CHECK(ended.wait() == 71);
  CHECK_MESSAGE(says(ended, "Permission denied; check address and port\n"), ended.err());
}

TEST_CASE("hosts: too few nodes end with status 69 and how many there were") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "3"}, {"join-timeout", "3s"}});
  const milliseconds begin = now_boottime();
  job.start_all();
  job.expect_end(status_no_rendezvous);
  CHECK(now_boottime() - begin >= milliseconds(3000));
  for (const int host : {0, 1}) {
    CHECK_MESSAGE(says(job.agent_of(host), "2 of at least 3 nodes joined"),
                  job.agent_of(host).err());
  }
  CHECK(job.starts().empty());
}

TEST_CASE("hosts: a node whose head never starts ends with status 69 and names the endpoint") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2"}, {"join-timeout", "3s"}});
  job.start(1);
  job.expect_end(status_no_rendezvous);
  CHECK(says(job.agent_of(1), std::string("n0:") + rendezvous_port));
}

TEST_CASE("hosts: a node whose head cannot be reached ends with status 69") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2"}, {"join-timeout", "3s"}});
  job[0].unplug();
  job.start_all();
  job.expect_end(status_no_rendezvous);
  CHECK(says(job.agent_of(1), std::string("n0:") + rendezvous_port));
}

TEST_CASE("hosts: an endpoint that nobody knows ends with status 69 and its name") {
  if (!can_hold_hosts()) return;
  Training job(1, {{"nnodes", "2"}, {"join-timeout", "3s"}, {"rdzv-endpoint", "nowhere:29400"}});
  job.start(0);
  job.expect_end(status_no_rendezvous);
  CHECK(says(job.agent_of(0), "nowhere"));
}

TEST_CASE("hosts: a head whose port is taken by another program says so") {
  if (!can_hold_hosts()) return;
  Training job(1, {{"nnodes", "1:2"}, {"join-timeout", "3s"}});
  const Program& other = job[0].run({"python3", HOSTS_TALK, "listen", rendezvous_port});
  job.wait_until("a listening program", [&] { return !other.out().empty(); });
  Program& refused = job.start(0);
  CHECK(refused.wait() != 0);
  CHECK_MESSAGE(says(refused, rendezvous_port), refused.err());
  other.kill();
}

}  // namespace hosts
