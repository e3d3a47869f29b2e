// That the pretended hosts are what they say: the tests of ddprun on many nodes stand on them.
#include "tests/e2e/process_table.hpp"
#include "tests/hosts/cluster.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace hosts {
namespace {

using std::chrono::milliseconds;

const std::string port = "5000";

/// A talk between two hosts over one TCP connection.
struct Talk {
  Program& server;
  Program& client;

  Talk(Cluster& cluster, Host& at_server, Host& at_client, const std::string& address)
      : server(at_server.run({"python3", HOSTS_TALK, "listen", port})), client([&]() -> Program& {
          cluster.wait_until("a listening end",
                             [&] { return server.out().starts_with("listening"); });
          return at_client.run({"python3", HOSTS_TALK, "connect", address, port});
        }()) {
    wait_for_more(cluster);
  }
  Talk(Cluster& cluster, Host& at_server, Host& at_client)
      : Talk(cluster, at_server, at_client, at_server.name()) {}

  [[nodiscard]] std::size_t heard() const { return e2e::count_of("heard", client.out()); }

  void wait_for_more(Cluster& cluster) const {
    const std::size_t before = heard();
    cluster.wait_until("more of the talk", [&] { return heard() > before + 5; });
  }
  /// What is on its way arrives; then nothing is heard, and no end either.
  [[nodiscard]] bool is_silent(Cluster& cluster) const {
    std::string before;
    cluster.wait_until("a quiet moment", [&] {
      before = client.out();
      return cluster.stays(milliseconds(100), [&] { return client.out() == before; });
    });
    return cluster.stays(milliseconds(1000), [&] { return client.out() == before; });
  }
  /// The server first, since it ends by itself when the client is gone.
  void end() const {
    server.kill();
    client.kill();
  }
};

/// Sends datagrams without end.
struct Teller {
  Program& program;

  Teller(Host& from, const std::string& address)
      : program(from.run({"python3", HOSTS_TALK, "tell", address, port})) {}

  /// That what it sends is in vain: many go and nothing comes back.
  [[nodiscard]] bool is_told_nothing(Cluster& cluster) const {
    const std::size_t before = e2e::count_of("told", program.out());
    cluster.wait_until("more words", [&] {
      return program.ended() || e2e::count_of("told", program.out()) > before + 20;
    });
    return !program.ended();
  }
};

/// Runs it to its end and returns what it printed.
std::string said_by(Host& host, const Words& words) {
  Program& program = host.run(words);
  program.wait();
  return program.out() + program.err();
}

/// Is killed while programs that ignore what they can run on its hosts, one on a disk that hangs.
[[noreturn]] void die_with_hosts(const std::string& mark) {
  Cluster cluster(2);
  if (can_have_disks()) {
    cluster[0].add_disk("logs").freeze();
    const Program& writer = cluster[0].run({"touch", "logs/file"}, {{"KILLED", mark}});
    cluster.wait_until("a hanging writer", [&] { return e2e::state_of(writer.pid()) == 'D'; });
  }
  for (int i = 0; i < 2; ++i) {
    cluster[i].run(e2e::shell("(trap '' TERM HUP; echo up; exec setsid sleep 60)"),
                   {{"KILLED", mark}});
  }
  cluster.wait_until("both", [&] {
    return cluster[0].programs().back()->out() == "up\n" &&
           cluster[1].programs().back()->out() == "up\n";
  });
  kill(getpid(), SIGKILL);
  _exit(1);
}

}  // namespace

TEST_CASE("hosts kit: names and addresses and processes are each host's own") {
  if (!can_hold_hosts()) return;
  Cluster cluster(3);
  for (int i = 0; i < cluster.size(); ++i) {
    CAPTURE(i);
    Host& host = cluster[i];
    CHECK(said_by(host, {"uname", "-n"}) == "n" + std::to_string(i) + "\n");
    const std::string addresses = said_by(host, e2e::shell("ip -brief address show eth0"));
    CHECK(e2e::count_of(host.address() + "/24", addresses) == 1);
    CHECK(e2e::count_of(host.address6() + "/64", addresses) == 1);
    CHECK(std::stoi(said_by(host, e2e::shell("echo $$"))) < 20);
  }
  CHECK(said_by(cluster[0], {"getent", "ahostsv4", "n2"}).starts_with(cluster[2].address() + " "));
}

TEST_CASE("hosts kit: programs keep their status and output") {
  if (!can_hold_hosts()) return;
  Cluster cluster(1);
  Program& program =
      cluster[0].run(e2e::shell("echo $WORD; echo bad >&2; exit 7"), {{"WORD", "a"}});
  CHECK(program.wait() == 7);
  CHECK(program.out() == "a\n");
  CHECK(program.err() == "bad\n");
  CHECK(cluster[0].run({"no-such-program"}).wait() == 127);
}

TEST_CASE("hosts kit: an answer is what a program prints that succeeds") {
  if (!can_hold_hosts()) return;
  Cluster cluster(1);
  CHECK(cluster[0].answer(e2e::shell("uname -n; echo $WORD"), {{"WORD", "a"}}) == "n0\na\n");
  CHECK_THROWS(cluster[0].answer(e2e::shell("echo a; exit 7")));
  CHECK(cluster[0].programs().empty());
}

TEST_CASE("hosts kit: a host's own name may be a loopback address") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2, {.names = Names::loopback});
  CHECK(said_by(cluster[1], {"getent", "ahostsv4", "n1"}).starts_with("127.0.1.1 "));
  CHECK(said_by(cluster[0], {"getent", "ahostsv4", "n1"}).starts_with(cluster[1].address() + " "));
}

TEST_CASE("hosts kit: there may be no names at all") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2, {.names = Names::none});
  for (const std::string name : {"n0", "n1"}) {
    CHECK(said_by(cluster[0], {"getent", "ahosts", name}).empty());
  }
}

TEST_CASE("hosts kit: every host reaches every other one by IPv4 and IPv6") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  for (const auto& address : {cluster[0].address(), cluster[0].address6()}) {
    const Talk there(cluster, cluster[0], cluster[1], address);
    there.end();
    CHECK(there.server.wait() == 128 + SIGKILL);
  }
  const Talk back(cluster, cluster[1], cluster[0]);
  CHECK(e2e::count_of("from " + cluster[0].address() + "\n", back.client.out()) == 1);
  back.end();
}

TEST_CASE("hosts kit: a connection is silent while the cable is unplugged and lives on") {
  if (!can_hold_hosts()) return;
  for (const bool by_client : {true, false}) {
    CAPTURE(by_client);
    Cluster cluster(2);
    const std::string address = by_client ? cluster[0].address() : cluster[0].address6();
    const Talk talk(cluster, cluster[0], cluster[1], address);
    Host& unplugged = cluster[by_client ? 1 : 0];
    unplugged.unplug();
    CHECK(talk.is_silent(cluster));
    CHECK_FALSE(talk.server.ended());
    const Teller teller(cluster[by_client ? 0 : 1], unplugged.address());
    CHECK(teller.is_told_nothing(cluster));
    teller.program.kill();
    unplugged.plug();
    talk.wait_for_more(cluster);
    talk.end();
  }
}

TEST_CASE("hosts kit: a host that is isolated is silent and back at once") {
  if (!can_hold_hosts()) return;
  for (const int isolated : {0, 1}) {
    CAPTURE(isolated);
    Cluster cluster(2);
    Program& hearer = cluster[0].run({"python3", HOSTS_TALK, "hear", port});
    cluster.wait_until("a listening end", [&] { return !hearer.out().empty(); });
    const Teller teller(cluster[1], cluster[0].address());
    const auto heard = [&] { return e2e::count_of("heard", hearer.out()); };
    cluster.wait_until("words", [&] { return heard() > 5; });
    cluster[isolated].isolate();
    const std::size_t before = heard();
    CHECK(teller.is_told_nothing(cluster));
    CHECK(heard() <= before + 1);  // one may have been on its way
    cluster[isolated].rejoin();
    CHECK_FALSE(cluster.stays(milliseconds(500), [&] { return heard() < before + 5; }));
    hearer.kill();
    teller.program.kill();
  }
}

TEST_CASE("hosts kit: a cut takes one direction and one pair of hosts") {
  if (!can_hold_hosts()) return;
  Cluster cluster(3);
  const Talk talk(cluster, cluster[0], cluster[1]);
  const Talk other(cluster, cluster[2], cluster[1]);
  cluster.cut(cluster[0], cluster[1]);
  CHECK(talk.is_silent(cluster));
  other.wait_for_more(cluster);
  cluster.heal();
  talk.wait_for_more(cluster);
  talk.end();
  other.end();
}

TEST_CASE("hosts kit: a cut lets the other direction through and is told to nobody") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  for (const bool by_ipv6 : {false, true}) {
    CAPTURE(by_ipv6);
    Program& here = cluster[0].run({"python3", HOSTS_TALK, "hear", port});
    Program& there = cluster[1].run({"python3", HOSTS_TALK, "hear", port});
    cluster.wait_until("both", [&] { return !here.out().empty() && !there.out().empty(); });
    cluster.cut(cluster[0], cluster[1]);
    const Teller to_there(cluster[0], by_ipv6 ? cluster[1].address6() : cluster[1].address());
    const Teller to_here(cluster[1], by_ipv6 ? cluster[0].address6() : cluster[0].address());
    cluster.wait_until("words to n0", [&] { return e2e::count_of("heard", here.out()) > 20; });
    CHECK(to_there.is_told_nothing(cluster));
    CHECK(e2e::count_of("heard", there.out()) == 0);
    cluster.heal();
    cluster.wait_until("words to n1", [&] { return e2e::count_of("heard", there.out()) > 5; });
    for (const Program* program : {&here, &there, &to_there.program, &to_here.program}) {
      program->kill();
    }
    cluster.wait_until("an end of all", [&] {
      return cluster[0].processes().empty() && cluster[1].processes().empty();
    });
  }
}

TEST_CASE("hosts kit: who talks to a host that lost power hears neither end nor reset") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  const Talk talk(cluster, cluster[0], cluster[1]);
  cluster[0].power_off();
  CHECK(talk.server.ended());
  CHECK(talk.is_silent(cluster));
  CHECK_FALSE(cluster[0].on());
  for (const std::string& address : {cluster[0].address(), cluster[0].address6()}) {
    const Teller teller(cluster[1], address);
    CHECK(teller.is_told_nothing(cluster));
    teller.program.kill();
  }
  CHECK(cluster[0].processes().empty());
  talk.client.kill();
}

TEST_CASE("hosts kit: a host that has power again knows nothing of its connections") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  const Talk talk(cluster, cluster[0], cluster[1]);
  cluster[0].power_off();
  CHECK(talk.is_silent(cluster));
  cluster[0].power_on();
  CHECK(cluster[0].processes().empty());
  cluster.wait_until("a reset", [&] { return e2e::count_of("\nreset ", talk.client.out()) == 1; });
  const Talk again(cluster, cluster[0], cluster[1]);
  again.end();
}

TEST_CASE("hosts kit: a host that is unplugged may lose power and come back plugged") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  cluster[0].unplug();
  cluster[0].power_off();
  cluster[0].power_on();
  const Talk talk(cluster, cluster[0], cluster[1]);
  talk.end();
}

TEST_CASE("hosts kit: a host knows its living processes and no others") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  const Program& parent = cluster[0].run(e2e::shell("sleep 60 & setsid sleep 60 & exec sleep 60"));
  const Program& other = cluster[1].run({"sleep", "60"});
  cluster.wait_until("three processes", [&] { return cluster[0].processes().size() == 3; });
  cluster.wait_until("the other's", [&] { return !cluster[1].processes().empty(); });
  CHECK(cluster[1].processes() == std::vector<int>{other.pid()});
  parent.kill();
  cluster.wait_until("two processes", [&] { return cluster[0].processes().size() == 2; });
  for (const int pid : cluster[0].processes()) kill(pid, SIGKILL);
  other.kill();
}

TEST_CASE("hosts kit: a stopped program does nothing until it goes on") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  Talk talk(cluster, cluster[0], cluster[1]);
  talk.server.stop();
  CHECK(talk.is_silent(cluster));
  talk.server.cont();
  talk.wait_for_more(cluster);
  talk.end();
}

TEST_CASE("hosts kit: a frozen disk holds up who writes to it and nobody else") {
  if (!can_hold_hosts() || !can_have_disks()) return;
  Cluster cluster(1);
  Disk& disk = cluster[0].add_disk("logs");
  CHECK(said_by(cluster[0], e2e::shell("echo word > logs/file; cat logs/file")) == "word\n");
  disk.freeze();
  Program& writer =
      cluster[0].run(e2e::shell("echo 1 > before; echo 2 >> logs/file; echo 3 > after"));
  cluster.wait_until("the first file", [&] { return cluster.test().has("before"); });
  cluster.wait_until("a hanging writer", [&] { return e2e::state_of(writer.pid()) == 'D'; });
  writer.kill();
  CHECK(cluster.stays(milliseconds(300), [&] { return !writer.ended(); }));
  disk.thaw();
  CHECK(writer.wait() == 128 + SIGKILL);
  CHECK_FALSE(cluster.test().has("after"));
}

TEST_CASE("hosts kit: a host whose disk hangs can lose power") {
  if (!can_hold_hosts() || !can_have_disks()) return;
  Cluster cluster(1);
  cluster[0].add_disk("logs").freeze();
  const Program& writer = cluster[0].run({"touch", "logs/file"});
  cluster.wait_until("a hanging writer", [&] { return e2e::state_of(writer.pid()) == 'D'; });
  cluster[0].power_off();
  CHECK(cluster[0].processes().empty());
}

TEST_CASE("hosts kit: nothing is left of hosts whose test was killed") {
  if (!can_hold_hosts()) return;
  e2e::Case test;
  const int pid = fork();
  if (pid == 0) {
    setenv("TMPDIR", test.folder().c_str(), 1);
    try {
      die_with_hosts(test.mark());
    } catch (const std::exception&) {
    }
    _exit(1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  CHECK(WTERMSIG(status) == SIGKILL);
  const auto left = [&] { return e2e::processes_marked("KILLED=" + test.mark()); };
  const auto enough = e2e::Clock::now() + std::chrono::seconds(5);
  while (!left().empty() && e2e::Clock::now() < enough) usleep(1000);
  CHECK_MESSAGE(left().empty(), e2e::description_of(left()));
}

}  // namespace hosts
