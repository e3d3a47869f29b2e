// That the watch of these tests sees what it is for: the tests of ddprun on many nodes believe it.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

#include <signal.h>

namespace hosts {
namespace {

/// What tells one generation from another.
struct Identity {
  int generation = 1;
  std::string port = "4000";
  std::string job = "job";
};

Birth birth_at(int born, const Identity& whose) {
  Birth birth;
  birth.job = whose.job;
  birth.generation = whose.generation;
  birth.master = "10.77.0.2 " + whose.port;
  birth.born = birth.looked = Nanoseconds(born);
  return birth;
}

/// The number of overlaps of one that was seen alive at 20 and dead at 30 with another.
std::size_t overlaps_with(int other_born, const Identity& other) {
  Lives lives;
  lives.begin(birth_at(10, {}), 1);
  lives.saw_alive(Nanoseconds(10), Nanoseconds(20));
  lives.saw_dead(Nanoseconds(10), Nanoseconds(30));
  lives.begin(birth_at(other_born, other), 2);
  return lives.take_overlaps().size();
}

Program& start_worker(Host& host, const Identity& whose) {
  return host.run({HOSTS_WORKER},
                  {{"TORCHELASTIC_RUN_ID", whose.job},
                   {"DDPRUN_GENERATION", std::to_string(whose.generation)},
                   {"MASTER_ADDR", address_of(0)},
                   {"MASTER_PORT", whose.port},
                   {"RANK", "0"}});
}

void wait_for_births(Cluster& cluster, std::size_t count) {
  cluster.wait_until("births", [&] { return cluster.watch().lives().size() == count; });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("hosts kit: lives overlap when one was alive at the other's birth, and not before") {
  const Identity next{.generation = 2};
  CHECK(overlaps_with(15, next) == 1);
  CHECK(overlaps_with(20, next) == 1);
  CHECK(overlaps_with(21, next) == 0);  // dead by then, as far as is known
  CHECK(overlaps_with(5, next) == 0);   // that one was not seen after its birth
  CHECK(overlaps_with(31, next) == 0);
}

TEST_CASE("hosts kit: workers of one generation and of two jobs may live at once") {
  CHECK(overlaps_with(15, {}) == 0);
  CHECK(overlaps_with(15, {.port = "4001"}) == 1);  // founded twice: both begin with 1
  CHECK(overlaps_with(15, {.generation = 2, .job = "another"}) == 0);
}

TEST_CASE("hosts kit: what a worker has seen at its birth counts, whoever is heard of first") {
  for (const bool older_first : {true, false}) {
    CAPTURE(older_first);
    Lives lives;
    Birth younger = birth_at(20, {.generation = 2});
    younger.looked = Nanoseconds(21);
    younger.beside = {Nanoseconds(10)};
    if (older_first) lives.begin(birth_at(10, {}), 1);
    lives.begin(younger, 2);
    if (!older_first) lives.begin(birth_at(10, {}), 1);
    lives.saw_dead(Nanoseconds(10), Nanoseconds(22));
    REQUIRE(lives.take_overlaps().size() == 1);
    CHECK(lives.take_overlaps().empty());
  }
}

TEST_CASE("hosts kit: a birth is read as it was written") {
  Birth birth = birth_at(7, {.generation = 3, .job = "a job"});
  birth.rank = 5;
  birth.host = "n1";
  birth.beside = {Nanoseconds(4), Nanoseconds(6)};
  const std::optional<Birth> read = parse_birth(text_of(birth));
  REQUIRE(read.has_value());
  CHECK(text_of(*read) == text_of(birth));
  CHECK(read->beside == birth.beside);
  CHECK_FALSE(parse_birth("job\nmaster\nhost\nnothing").has_value());
}

TEST_CASE("hosts kit: the watch names two workers of different generations, hosts and times") {
  if (!can_hold_hosts()) return;
  for (const Identity& second : {Identity{.generation = 2}, Identity{.port = "4001"}}) {
    Cluster cluster(2);
    const Program& old = start_worker(cluster[0], {});
    wait_for_births(cluster, 1);
    const Program& young = start_worker(cluster[1], second);
    wait_for_births(cluster, 2);
    const std::vector<std::string> told = cluster.watch().take_overlaps();
    REQUIRE(told.size() == 1);
    CHECK_MESSAGE(
        told.front().starts_with("job 'job' generation " + std::to_string(second.generation) +
                                 " of " + address_of(0) + " " + second.port +
                                 ", rank 0 on n1, pid " + std::to_string(young.pid())),
        told.front());
    CHECK(has(told.front(), "\n  while job 'job' generation 1 of "));
    CHECK(has(told.front(), "rank 0 on n0, pid " + std::to_string(old.pid()) + ": born at "));
    CHECK(cluster.watch().take_overlaps().empty());
    old.kill();
    young.kill();
  }
}

TEST_CASE("hosts kit: a test in which two generations lived at once fails" *
          doctest::should_fail()) {
  if (!can_hold_hosts()) {
    FAIL_CHECK("it was skipped");
    return;
  }
  Cluster cluster(2);
  const Program& old = start_worker(cluster[0], {});
  wait_for_births(cluster, 1);
  const Program& young = start_worker(cluster[1], {.generation = 2});
  wait_for_births(cluster, 2);
  old.kill();
  young.kill();
}

TEST_CASE("hosts kit: one worker right after the other is no overlap") {
  if (!can_hold_hosts()) return;
  constexpr int generations = 50;
  Cluster cluster(2);
  for (int number = 1; number <= generations; ++number) {
    Program& worker = start_worker(cluster[number % 2], {.generation = number});
    wait_for_births(cluster, static_cast<std::size_t>(number));
    worker.kill();
    worker.reap();
  }
  for (const Life& life : cluster.watch().lives()) {
    CHECK(life.dead.has_value());
    CHECK(life.birth.beside.empty());
  }
  CHECK(cluster.watch().take_overlaps().empty());
}

TEST_CASE("hosts kit: a worker sees by itself which others live, on any host") {
  if (!can_hold_hosts()) return;
  Cluster cluster(3);
  Program& first = start_worker(cluster[0], {});
  wait_for_births(cluster, 1);
  start_worker(cluster[1], {});
  wait_for_births(cluster, 2);
  first.stop();
  start_worker(cluster[2], {});
  wait_for_births(cluster, 3);
  const std::vector<Life> lives = cluster.watch().lives();
  CHECK(lives.at(0).birth.beside.empty());
  CHECK(lives.at(1).birth.beside == std::vector{lives.at(0).birth.born});
  CHECK(lives.at(2).birth.beside.size() == 2);
  for (const Life& life : lives) kill(life.pid, SIGKILL);
}

TEST_CASE("hosts kit: workers of one generation are no overlap, nor are those of two jobs") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  (void)start_worker(cluster[0], {});
  (void)start_worker(cluster[1], {});
  (void)start_worker(cluster[1], {.generation = 2, .job = "another"});
  wait_for_births(cluster, 3);
  for (const Life& life : cluster.watch().lives()) kill(life.pid, SIGKILL);
  CHECK(cluster.watch().take_overlaps().empty());
}

TEST_CASE("hosts kit: the watch knows of each death, also of one whose host lost power") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  const Program& killed = start_worker(cluster[0], {});
  start_worker(cluster[1], {});
  wait_for_births(cluster, 2);
  const Nanoseconds before = boottime();
  killed.kill();
  cluster[1].power_off();
  cluster.wait_until("two deaths", [&] {
    const std::vector<Life> lives = cluster.watch().lives();
    return lives.front().dead.has_value() && lives.back().dead.has_value();
  });
  for (const Life& life : cluster.watch().lives()) CHECK(*life.dead > before);
}

TEST_CASE("hosts kit: a worker that is stopped is alive, and so is what it has become") {
  if (!can_hold_hosts()) return;
  Cluster cluster(2);
  Program& stopped = start_worker(cluster[0], {});
  Program& other = cluster[0].run({HOSTS_WORKER, "sleep", "60"}, {{"TORCHELASTIC_RUN_ID", "job"}});
  wait_for_births(cluster, 2);
  stopped.stop();
  cluster.wait_until("another program",
                     [&] { return e2e::description_of({other.pid()}).ends_with("sleep 60 \n"); });
  (void)cluster.watch().take_overlaps();
  const Program& young = start_worker(cluster[1], {.generation = 2});
  wait_for_births(cluster, 3);
  CHECK(cluster.watch().take_overlaps().size() == 2);
  stopped.kill();
  other.kill();
  young.kill();
}

TEST_CASE("hosts kit: a worker without a watch does not run") {
  if (!can_hold_hosts()) return;
  Cluster cluster(1);
  std::filesystem::remove(cluster.test().folder() / watch_socket);
  CHECK(start_worker(cluster[0], {}).wait() == 98);
}

}  // namespace hosts
