// Everything that can happen to a small single-node job: agent and coordinator together.
#include "tests/unit/world.hpp"

#include "tests/unit/search.hpp"
#include "tests/unit/trace.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace ddprun {
namespace {

using Kind = WorkerEnd::Kind;

/// After a request to stop the job must end, whoever obeys; returns what is wrong if it does not.
std::string ends_when_asked(World world, bool kill_works) {
  if (!world.outcome()) world.signal_arrives(SIGTERM);
  for (int step = 0; step < 20 && !world.outcome(); ++step) {
    if (world.killing() && kill_works) {
      world.all_die();
    } else if (!world.deadline_comes()) {
      return "it waits for ever: " + world.reason();
    }
  }
  if (!world.outcome()) return "it does not end: " + world.reason();
  return world.broken().empty() ? "" : "while it ended, " + world.broken().front();
}

/// Where every worker succeeds or dies when told to, the job must end without any request.
std::string ends_by_itself(World world, int worker_count) {
  for (int step = 0; step < 40 && !world.outcome(); ++step) {
    if (world.killing()) {
      world.all_die();
    } else if (world.any_alive()) {
      for (int rank = 0; rank < worker_count; ++rank) {
        if (world.alive(rank)) world.worker_ends(rank, {Kind::exited, 0});
      }
    } else if (!world.deadline_comes()) {
      return "it waits for ever: " + world.reason();
    }
  }
  if (!world.outcome()) return "it does not end: " + world.reason();
  return world.broken().empty() ? "" : "while it ended, " + world.broken().front();
}

struct WorldChoice {
  enum class What { worker_ends, both_end, signal, guard_dies, deadline } what;
  int rank = 0;
  WorkerEnd end;
  int signal = 0;
  bool from_terminal = false;
  WorkerEnd other_end;  ///< Of the other worker, told of at the same time.

  [[nodiscard]] std::string text() const {
    switch (what) {
      case What::worker_ends:
        return fmt::format("worker {} ends ({} {})", rank, static_cast<int>(end.kind), end.code);
      case What::both_end:
        return fmt::format("worker {} ends ({} {}) and with it the other ({} {})",
                           rank,
                           static_cast<int>(end.kind),
                           end.code,
                           static_cast<int>(other_end.kind),
                           other_end.code);
      case What::signal:
        return signal_name(signal) + (from_terminal ? " by key" : "");
      case What::guard_dies:
        return "guard dies";
      case What::deadline:
        break;
    }
    return "deadline";
  }
};

/// The job, and how much may still befall it.
struct Fate {
  World world;
  int worker_count = 2;
  int stops_left = 2;
  int passed_on_left = 1;
  bool guard_may_die = false;

  [[nodiscard]] std::vector<WorldChoice> choices() const {
    std::vector<WorldChoice> all;
    if (world.outcome()) return all;
    for (int rank = 0; rank < worker_count; ++rank) {
      if (!world.alive(rank)) continue;
      for (const WorkerEnd& end : {WorkerEnd{Kind::exited, 0},
                                   WorkerEnd{Kind::exited, 3},
                                   WorkerEnd{Kind::killed, SIGKILL},
                                   WorkerEnd{Kind::killed, SIGTERM},
                                   WorkerEnd{Kind::killed, SIGUSR1},
                                   WorkerEnd{Kind::not_executed, ENOENT}}) {
        all.push_back({.what = WorldChoice::What::worker_ends, .rank = rank, .end = end});
      }
    }
    if (world.alive(0) && world.alive(1)) add_double_ends(all);
    if (stops_left > 0) {
      all.push_back({.what = WorldChoice::What::signal, .signal = SIGTERM});
      all.push_back({.what = WorldChoice::What::signal, .signal = SIGINT, .from_terminal = true});
    }
    if (passed_on_left > 0) all.push_back({.what = WorldChoice::What::signal, .signal = SIGUSR1});
    if (guard_may_die) all.push_back({.what = WorldChoice::What::guard_dies});
    if (world.next_deadline()) all.push_back({.what = WorldChoice::What::deadline});
    return all;
  }

  static void add_double_ends(std::vector<WorldChoice>& all) {
    const std::array ends{
        WorkerEnd{Kind::exited, 0}, WorkerEnd{Kind::exited, 3}, WorkerEnd{Kind::killed, SIGTERM}};
    for (const int rank : {0, 1}) {
      for (const WorkerEnd& end : ends) {
        for (const WorkerEnd& other : ends) {
          all.push_back(
              {.what = WorldChoice::What::both_end, .rank = rank, .end = end, .other_end = other});
        }
      }
    }
  }

  void apply(const WorldChoice& choice) {
    switch (choice.what) {
      case WorldChoice::What::worker_ends:
        return world.worker_ends(choice.rank, choice.end);
      case WorldChoice::What::both_end:
        return world.workers_end({{choice.rank, choice.end}, {1 - choice.rank, choice.other_end}});
      case WorldChoice::What::signal:
        --(choice.signal == SIGUSR1 ? passed_on_left : stops_left);
        return world.signal_arrives(choice.signal, choice.from_terminal);
      case WorldChoice::What::guard_dies:
        guard_may_die = false;
        return world.guard_dies();
      case WorldChoice::What::deadline:
        (void)world.deadline_comes();
    }
  }

  [[nodiscard]] std::string problem() const {
    if (!world.broken().empty()) return world.broken().front();
    if (std::string stuck = ends_when_asked(world, true); !stuck.empty()) return stuck;
    if (std::string stuck = ends_when_asked(world, false); !stuck.empty()) return stuck;
    return ends_by_itself(world, worker_count);
  }

  [[nodiscard]] std::string bucket() const {
    std::string text = fmt::format("{}|{}{}{}|{}",
                                   world.reason(),
                                   stops_left,
                                   passed_on_left,
                                   static_cast<int>(guard_may_die),
                                   world.now().ms);
    for (int rank = 0; rank < worker_count; ++rank) text += world.alive(rank) ? 'a' : '-';
    const auto deadline = world.next_deadline();
    return text + fmt::format("{}", deadline ? deadline->ms : -1);
  }

  friend bool operator==(const Fate&, const Fate&) = default;
};

Fate fate(WorldOptions options) {
  options.records = false;
  options.worker_count = 2;
  return Fate{.world = World(std::move(options))};
}

void every_fate_is_good(const Fate& start) {
  const SearchResult result = search(start, 60'000);
  CHECK(result.broken_path == "");
  CHECK(result.complete);
  CHECK(result.state_count >= 1'000);  // else choices are missing
}

TEST_CASE("world: whatever befalls a job with one restart, its promises hold and it can end") {
  Fate start = fate({.restarts_max = 1});
  start.stops_left = 1;
  start.passed_on_left = 0;
  every_fate_is_good(start);
}

TEST_CASE("world: whatever befalls a job that is stopped twice, its promises hold") {
  every_fate_is_good(fate({}));
}

TEST_CASE("world: whatever befalls a job that shares the terminal, its promises hold") {
  Fate start = fate({.shares_terminal = true});
  start.passed_on_left = 0;
  every_fate_is_good(start);
}

TEST_CASE("world: whenever the guard dies, nothing outlives the job") {
  Fate start = fate({.restarts_max = 1});
  start.stops_left = 0;
  start.passed_on_left = 0;
  start.guard_may_die = true;
  every_fate_is_good(start);
}

TEST_CASE("world: a worker that the system refuses costs a restart, for the system may recover") {
  World world(WorldOptions{.restarts_max = 3, .refused = {1}});
  world.all_die();
  REQUIRE(world.outcome());
  CHECK(text_of(*world.outcome()) ==
        "status 71: rank 1 on n0 could not be started: Resource temporarily unavailable, after 3 "
        "of 3 "
        "restarts [rank 1]");
  CHECK(world.generations() == 4);
  CHECK(world.broken().empty());
}

TEST_CASE("world: a job that is over needs no further store to say so") {
  World succeeded(WorldOptions{.stores_before_none = 1});
  succeeded.workers_end({{0, {Kind::exited, 0}}, {1, {Kind::exited, 0}}});
  REQUIRE(succeeded.outcome());
  CHECK(text_of(*succeeded.outcome()) == "status 0: all workers ended with success");

  World failed(WorldOptions{.stores_before_none = 1});
  failed.workers_end({{0, {Kind::exited, 5}}, {1, {Kind::exited, 1}}});
  REQUIRE(failed.outcome());
  CHECK(text_of(*failed.outcome()) == "status 5: rank 0 (pid 100 on n0) exited with 5 [rank 0]");
}

TEST_CASE("world: a store that cannot be opened for a restart ends the job with the reason") {
  World world(WorldOptions{.restarts_max = 3, .stores_before_none = 1});
  world.worker_ends(0, {Kind::exited, 1});
  world.all_die();
  REQUIRE(world.outcome());
  CHECK(text_of(*world.outcome()) == "status 71: no store: no address");
  CHECK(world.broken().empty());
}

}  // namespace
}  // namespace ddprun
