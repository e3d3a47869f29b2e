#include "ddprun/context.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"
#include "worker/ranks/local_address.hpp"

#include <doctest/doctest.h>

#include <map>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using Environment = std::map<std::string, std::string>;

Context context_of(const Environment& environment) {
  return Context::from([&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  });
}

Environment two_ranks() {
  return {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}};
}

std::string error_with(Environment environment, const std::string& name, const std::string& value) {
  environment[name] = value;
  return error_of([&] { static_cast<void>(context_of(environment)); });
}

TEST_CASE("context: without variables there is one process and no store over TCP") {
  const Context context = context_of({});
  CHECK(context.rank == 0);
  CHECK(context.world_size == 1);
  CHECK(context.local_world_size == 1);
  CHECK(context.master_addr.empty());
  CHECK_FALSE(context.snapshot.has_value());
}

TEST_CASE("context: a stray MASTER_ADDR does not make a single process look for a store") {
  CHECK(context_of({{"MASTER_ADDR", "n0"}, {"MASTER_PORT", "1"}}).master_addr.empty());
}

TEST_CASE("context: the variables of a launcher are taken over") {
  const Environment environment{{"RANK", "5"},
                                {"WORLD_SIZE", "8"},
                                {"MASTER_ADDR", "n0"},
                                {"MASTER_PORT", "29500"},
                                {"LOCAL_RANK", "1"},
                                {"LOCAL_WORLD_SIZE", "4"},
                                {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                {"TORCHELASTIC_RESTART_COUNT", "3"},
                                {"DDPRUN_GENERATION", "7"},
                                {"DDPRUN_SNAPSHOT", "run/snapshot.pt"},
                                {"GLOO_SOCKET_IFNAME", "ib0"}};
  const Context context = context_of(environment);
  CHECK(context.rank == 5);
  CHECK(context.world_size == 8);
  CHECK(context.local_rank == 1);
  CHECK(context.local_world_size == 4);
  CHECK(context.master_addr == "n0");
  CHECK(context.master_port == 29500);
  CHECK(context.agent_store);
  CHECK(context.restart_count == 3);
  CHECK(context.generation == 7);
  CHECK(context.snapshot == "run/snapshot.pt");
  CHECK(context.gloo_interfaces == "ib0");
}

TEST_CASE("context: what a start by hand leaves out has the plain meaning") {
  const Context context = context_of(two_ranks());
  CHECK(context.local_rank == 1);
  CHECK(context.local_world_size == 2);
  CHECK_FALSE(context.agent_store);
  CHECK(context.generation == 0);

  Environment torchrun = two_ranks();
  torchrun.emplace("TORCHELASTIC_RESTART_COUNT", "4");
  CHECK(context_of(torchrun).generation == 4);
}

TEST_CASE("context: nonsense is refused by variable and value, with what to do") {
  for (const char* nonsense : {"", "x", "1x", " 1", "-1", "2", "99999999999999999999", "1.0"}) {
    const std::string error = error_with(two_ranks(), "RANK", nonsense);
    CHECK(contains(error,
                   "RANK=\"" + std::string(nonsense) + "\" is not a whole number from 0 to 1"));
    CHECK(contains(error, "; start this program with ddprun"));
  }
  for (const char* nonsense : {"0", "65536", "http"}) {
    CHECK(contains(error_with(two_ranks(), "MASTER_PORT", nonsense), "MASTER_PORT=\""));
  }
  CHECK(contains(error_with(two_ranks(), "WORLD_SIZE", "0"), "WORLD_SIZE=\"0\""));
  CHECK(contains(error_with(two_ranks(), "LOCAL_RANK", "2"), "LOCAL_RANK=\"2\""));
  CHECK(contains(error_with(two_ranks(), "LOCAL_WORLD_SIZE", "3"), "LOCAL_WORLD_SIZE=\"3\""));
  CHECK(contains(error_with(two_ranks(), "MASTER_ADDR", ""), "MASTER_ADDR is empty"));
  CHECK(
      contains(error_with(two_ranks(), "TORCHELASTIC_USE_AGENT_STORE", "yes"), "neither True nor"));
  CHECK(contains(error_with({}, "DDPRUN_GENERATION", "-1"), "DDPRUN_GENERATION=\"-1\""));
}

TEST_CASE("context: a variable that is missing is named") {
  CHECK(contains(error_with({}, "RANK", "0"), "RANK is set but WORLD_SIZE is not"));
  CHECK(contains(error_with({}, "WORLD_SIZE", "1"), "WORLD_SIZE is set but RANK is not"));
  Environment environment = two_ranks();
  environment.erase("MASTER_PORT");
  CHECK(contains(error_of([&] { context_of(environment); }), "MASTER_PORT is not set"));
  environment.erase("MASTER_ADDR");
  CHECK(contains(error_of([&] { context_of(environment); }), "MASTER_ADDR is not set"));
}

TEST_CASE("local address: the way to this machine is this machine") {
  CHECK(local_address_towards("127.0.0.1", 29500) == "127.0.0.1");
  const std::string error =
      error_of([] { static_cast<void>(local_address_towards("no-such-host.invalid", 1)); });
  CHECK(contains(error, "cannot resolve MASTER_ADDR \"no-such-host.invalid\""));
}

TEST_CASE("process group: a store that nobody hosts is an error that says so, within its time") {
  Context context = context_of(two_ranks());
  context.agent_store = true;
  context.master_addr = "127.0.0.1";
  context.master_port = 1;  // reserved: nothing listens there
  const std::string error = error_of([&] {
    static_cast<void>(ProcessGroup::connect(context, {.store_timeout = std::chrono::seconds(1)}));
  });
  CHECK(contains(error, "rank 1 cannot reach the store at 127.0.0.1:1 within 1 s"));
}

TEST_CASE("process group: an interface that does not exist is an error that names it") {
  Context context;
  context.gloo_interfaces = "nosuch0";
  const std::string error = error_of([&] { static_cast<void>(ProcessGroup::connect(context)); });
  CHECK(contains(error, "rank 0 cannot connect to the other ranks: "));
  CHECK(contains(error, "nosuch0"));
}

}  // namespace
}  // namespace ddprun::worker
