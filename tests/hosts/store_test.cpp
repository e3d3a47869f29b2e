// Who may use the store of a generation: the job's own user, on the job's hosts, by all their
// addresses.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/resource.h>

#include <string>

namespace hosts {
namespace {

/// An agent is stopped for a while, and no node is lost.
const Options dead_after_20_s{{"dead-after", "20s"}};

/// Runs ddprun on all hosts but the last, which is a stranger.
struct Besieged : Training {
  explicit Besieged(const Options& options = {}, int hosts = 3)
      : Training(hosts, options_for(hosts, options)) {
    for (int host = 0; host + 1 < hosts; ++host) {
      start(host);
      agents.push_back(&agent_of(host));
    }
    master = generation(1, 2 * (hosts - 1)).front().master;
  }

  static Options options_for(int hosts, Options options) {
    options["nnodes"] = std::to_string(hosts - 1);
    return options;
  }

  /// talk.py on that host, with the store's address and port after `verb`; `before` it is how it
  /// becomes another user.
  Program& talks(int host, const std::string& verb, const Words& more = {}, Words before = {}) {
    const std::size_t blank = master.find(' ');
    for (const std::string& word : {std::string("python3"),
                                    std::string(HOSTS_TALK),
                                    verb,
                                    master.substr(0, blank),
                                    master.substr(blank + 1)}) {
      before.push_back(word);
    }
    before.insert(before.end(), more.begin(), more.end());
    return cluster()[host].run(before);
  }
  Program& another_talks(int host, const std::string& verb, const Words& more = {}) {
    return talks(host, verb, more, {"setpriv", "--reuid=54321", "--clear-groups"});
  }
  std::string keys_count(int host) {
    Program& asked = talks(host, "keys");
    CHECK(asked.wait() == 0);
    return asked.out();
  }
  /// What the store answers to the stranger.
  std::string asks() {
    Program& asked = talks(cluster().size() - 1, "ask");
    CHECK(asked.wait() == 0);
    return asked.out();
  }

  int refusals_of(const std::string& address) {
    return static_cast<int>(e2e::count_of("store: refused " + address + ", ", agents[0]->err()));
  }

  void expect_success() {
    finish();
    for (Program* agent : agents) CHECK(agent->wait() == 0);
  }

  std::vector<Program*> agents;  // of hosts where other programs may have run since
  std::string master;            // "ADDRESS PORT"
};

/// A node beside the coordinator of host 0, which has no place.
void start_in_order(Training& job, int host) {
  job.start(host, {{"node-rank", std::to_string(host - 1)}, {"rdzv-conf", "is_host=no"}});
}

}  // namespace

TEST_CASE("hosts: a stranger is closed at the store, and said once") {
  if (!can_hold_hosts()) return;
  Besieged job;
  CHECK(job.asks() == "closed\n");
  CHECK(job.asks() == "closed\n");
  job.wait_until("a refusal", [&] { return job.refusals_of(address_of(2)) > 0; });
  job.expect_success();
  CHECK(job.refusals_of(address_of(2)) == 1);
}

TEST_CASE("hosts: a stranger is closed at the store of a job on IPv6") {
  if (!can_hold_hosts()) return;
  Besieged job({{"rdzv-endpoint", "[" + address6_of(0) + "]:" + rendezvous_port}});
  CHECK(job.master.starts_with(address6_of(0)));
  CHECK(job.asks() == "closed\n");
  job.wait_until("a refusal", [&] { return job.refusals_of(address6_of(2)) > 0; });
  job.expect_success();
}

TEST_CASE("hosts: whom the user allows may use the store") {
  if (!can_hold_hosts()) return;
  Besieged job({{"store-allow", "10.99.0.0/16," + address_of(2)}});
  CHECK(job.asks() == "served\n");
  job.expect_success();
  CHECK(job.refusals_of(address_of(2)) == 0);
}

TEST_CASE("hosts: connections that say nothing make room for one that asks") {
  if (!can_hold_hosts()) return;
  Besieged job({{"store-allow", address_of(2)}});
  const rlimit few{120, 120};
  REQUIRE(::prlimit(job.agent_process(0), RLIMIT_NOFILE, &few, nullptr) == 0);
  Program& silent = job.talks(2, "hold", {"200"});
  job.wait_until("silent connections", [&] { return silent.out() == "held\n"; });
  CHECK(job.asks() == "served\n");
  ::kill(silent.pid(), SIGKILL);
  CHECK(silent.wait() == 128 + SIGKILL);
  job.expect_success();
}

TEST_CASE("hosts: floods of connections at store and coordinator cost four nodes no lease") {
  if (!can_hold_hosts()) return;
  Besieged job({}, 5);
  const Words flood{rendezvous_port, "4"};
  const std::vector<Program*> floods{&job.talks(4, "flood", flood),
                                     &job.talks(4, "flood", flood),
                                     &job.another_talks(0, "flood", flood)};
  for (Program* each : floods) {
    job.wait_until("a flood", [&] { return each->out().starts_with("flooding\n"); });
  }
  (void)job.keys_count(0);  // is answered amid them
  for (Program* each : floods) {
    CHECK(each->wait() == 0);
    CHECK(std::stoi(each->out().substr(std::string("flooding\n").size())) > 100);
  }
  CHECK(job.newest() == 1);
  job.expect_success();
  CHECK(job.newest() == 1);
}

TEST_CASE("hosts: another user of the store's host sets no key, though he hangs up at once") {
  if (!can_hold_hosts()) return;
  Besieged job;
  const std::string before = job.keys_count(0);
  (void)job.another_talks(0, "intrude", {"200"}).wait();  // it fails where the store was faster
  CHECK(job.keys_count(0) == before);
  job.expect_success();
}

TEST_CASE("hosts: another user of another node sets no key, and is named with his uid") {
  if (!can_hold_hosts()) return;
  Besieged job;
  const std::string before = job.keys_count(1);
  Program& asked = job.another_talks(1, "ask");
  CHECK(asked.wait() == 0);
  CHECK(asked.out() == "closed\n");
  (void)job.another_talks(1, "intrude", {"200"}).wait();
  CHECK(job.keys_count(1) == before);
  job.expect_success();
  CHECK(job.refusals_of(address_of(1)) == 1);
  CHECK(has_said(*job.agents[0], "whose process belongs to uid 54321; to admit all users of that"));
}

TEST_CASE("hosts: a connection is held while its node's agent is silent, and served after that") {
  if (!can_hold_hosts()) return;
  Besieged job(dead_after_20_s);
  const int agent = job.agent_process(1);
  ::kill(agent, SIGSTOP);
  Program& held = job.talks(1, "ask", {"0"});
  job.wait_until("a question", [&] { return held.out() == "asked\n"; });
  Program& other = job.talks(0, "ask");
  CHECK(other.wait() == 0);
  CHECK(other.out() == "served\n");
  CHECK(held.out() == "asked\n");
  ::kill(agent, SIGCONT);
  CHECK(held.wait() == 0);
  CHECK(held.out() == "asked\nserved\n");
  job.expect_success();
  CHECK(job.refusals_of(address_of(1)) == 0);
}

TEST_CASE("hosts: who resets a connection sets no key by the port of the job's own user") {
  if (!can_hold_hosts()) return;
  Besieged job(dead_after_20_s);
  const std::string before = job.keys_count(0);
  const int agent = job.agent_process(1);
  ::kill(agent, SIGSTOP);
  const std::string own_port = "29999";
  Program& other = job.another_talks(1, "reset", {own_port});
  job.wait_until("the other's question", [&] { return other.out() == "asked\n"; });
  (void)job.keys_count(0);  // the store holds the other's connection, which came before
  ::kill(other.pid(), SIGUSR1);
  CHECK(other.wait() == 0);
  Program& own = job.talks(1, "ask", {own_port});
  job.wait_until("a question", [&] { return own.out() == "asked\n"; });
  CHECK(job.keys_count(0) == before);
  ::kill(agent, SIGCONT);
  CHECK(own.wait() == 0);
  CHECK(own.out() == "asked\nserved\n");
  CHECK(job.keys_count(0) == before);
  job.expect_success();
}

TEST_CASE("hosts: a host that comes to the store by another of its addresses is served") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2"}});
  const std::string other = "10.77.1.9";
  const std::string gateway = "10.77.1.1";
  CHECK(job[1].run({"ip", "address", "add", other + "/24", "dev", "eth0"}).wait() == 0);
  CHECK(job[1].run({"ip", "route", "replace", "default", "via", gateway, "src", other}).wait() ==
        0);
  job.start(0);
  job.start(1, {{"advertise", address_of(1)}});
  job.generation(1, 4);
  job.finish();
  for (int host = 0; host < 2; ++host) CHECK(job.agent_of(host).wait() == 0);
  CHECK(e2e::count_of("store: refused", job.agent_of(0).err()) == 0);
}

/// Every ddprun ends with 69 and these words, and nothing was started again.
void expect_unreachable(Training& job, const std::string& words) {
  job.expect_end(status_no_rendezvous);
  for (int host = 0; host < job.cluster().size(); ++host) {
    const std::string said = job.agent_of(host).err();
    CHECK_MESSAGE(e2e::count_of(words, said) == 1, said);
    CHECK_MESSAGE(e2e::count_of("check --advertise, --interface and firewalls", said) == 1, said);
  }
  CHECK(job.newest() <= 1);
}

TEST_CASE("hosts: a node that cannot reach the store of another is named, and the job ends") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "2"}, {"max-restarts", "3"}});
  job.cluster().cut(job[2], job[1]);
  job.start_coordinator(0);
  for (const int host : {1, 2}) start_in_order(job, host);
  expect_unreachable(job, "n2 cannot reach the workers' store of n1 at " + address_of(1) + ":");
}

TEST_CASE("hosts: a node that joins and cannot reach the store is left out, and the job goes on") {
  if (!can_hold_hosts()) return;
  Training job(4, {{"nnodes", "2:3"}, {"max-restarts", "0"}});
  job.start_coordinator(0);
  for (const int host : {1, 2}) start_in_order(job, host);
  job.generation(1, 4);
  job.cluster().cut(job[3], job[1]);
  start_in_order(job, 3);
  const std::vector<Start> starts = job.generation(3, 4);
  for (const int host : {1, 2}) CHECK(count_on(job[host], starts) == 2);
  const std::string words = "n3 cannot reach the workers' store of n1 at " + address_of(1) + ":";
  job.wait_until("a note", [&] { return has_said(job.agent_of(0), words); });
  CHECK(has_said(job.agent_of(0), "firewalls; the node is left out"));
  CHECK(job.workers(3).empty());
  job.finish();
  job.expect_end(0);
  CHECK(job.newest() == 3);
}

TEST_CASE("hosts: a head that advertises what is no address of it is named, and the job ends") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2"}});
  const std::string nowhere = "10.77.9.9";
  job.start(0, {{"advertise", nowhere}});
  job.start(1);
  expect_unreachable(job, " cannot reach the workers' store of n0 at " + nowhere + ":");
}

}  // namespace hosts
