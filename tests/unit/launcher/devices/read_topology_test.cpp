#include "launcher/devices/read_topology.hpp"

#include "tests/unit/launcher/devices/machine_kit.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("topology: nodes, sockets, hyperthreads and caches are read") {
  const ShownMachine machine;
  add_two_sockets(machine);
  const Topology topology = machine.seen({5, 22, 24});
  CHECK(topology.nodes.size() == 4);
  CHECK(topology.nodes.at(1) == CoreSet{4, 5, 6, 7, 20, 21, 22, 23});
  CHECK(topology.cores.size() == 3);  // the allowed ones
  CHECK(topology.cores.at(5) == CorePlace{.package = 0, .physical = 5, .core_complex = 4});
  CHECK(topology.cores.at(22) == CorePlace{.package = 0, .physical = 6, .core_complex = 6});
  CHECK(topology.cores.at(24) == CorePlace{.package = 1, .physical = 8, .core_complex = 8});
}

TEST_CASE("topology: where Linux shows nothing, a core is one of its own in no known place") {
  const Topology topology = ShownMachine().seen({3});
  CHECK(topology.nodes.empty());
  CHECK(topology.cores.at(3) == CorePlace{.package = -1, .physical = 3, .core_complex = -1});
}

TEST_CASE("topology: a node without cores, and what is no node, are left out") {
  const ShownMachine machine;
  machine.add_node(0, "0-1");
  machine.add_node(1, "");  // memory alone
  machine.add_node(2, "what");
  CHECK(machine.seen({0}).nodes == std::map<int, CoreSet>{{0, {0, 1}}});
}

TEST_CASE("topology: a device's NUMA node is read, and -1 is none") {
  const ShownMachine machine;
  machine.add_device("0000:1a:00.0", "1");
  machine.add_device("0000:2a:00.0", "-1");
  CHECK(read_numa_node("0000:1a:00.0", machine.path()) == 1);
  CHECK(read_numa_node("0000:2a:00.0", machine.path()) == -1);
  CHECK(read_numa_node("0000:3a:00.0", machine.path()) == -1);
}

}  // namespace
}  // namespace ddprun
