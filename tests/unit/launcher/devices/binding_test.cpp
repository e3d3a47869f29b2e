#include "launcher/devices/binding.hpp"

#include "tests/unit/launcher/devices/machine_kit.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

CoreSet cores_up_to(int last) {
  CoreSet all;
  for (int core = 0; core <= last; ++core) all.insert(core);
  return all;
}

/// What each worker gets, "0-3 4-7", or the error's text.
std::string bound(Binding binding,
                  const Topology& topology,
                  const CoreSet& allowed,
                  const std::vector<int>& gpu_nodes) {
  const auto workers = bind_workers({binding, {}, "--x: 'y'"}, topology, allowed, gpu_nodes);
  if (!workers) return workers.error().message();
  std::string text;
  for (const CoreSet& cores : *workers) text += (text.empty() ? "" : " ") + text_of_cores(cores);
  return text;
}

/// On the machine of the kit.
std::string on_two_sockets(Binding binding,
                           const std::vector<int>& gpu_nodes,
                           const CoreSet& allowed = cores_up_to(31)) {
  const ShownMachine machine;
  add_two_sockets(machine);
  return bound(binding, machine.seen(allowed), allowed, gpu_nodes);
}

/// On a machine of one node, without hyperthreads and GPUs.
std::string on_cores(Binding binding, int core_count, std::size_t worker_count) {
  const ShownMachine machine;
  const CoreSet all = cores_up_to(core_count - 1);
  machine.add_node(0, text_of_cores(all));
  for (const int core : all) machine.add_core(core, 0, std::to_string(core), text_of_cores(all));
  return bound(binding, machine.seen(all), all, std::vector<int>(worker_count, -1));
}

TEST_CASE("binding: none binds nobody") {
  CHECK(on_two_sockets(Binding::none, {0, 1}).empty());
}

TEST_CASE("binding: node gives all cores of the GPU's NUMA node") {
  CHECK(on_two_sockets(Binding::node, {3, 3, 1, 0}) ==
        "12-15,28-31 12-15,28-31 4-7,20-23 0-3,16-19");
}

TEST_CASE("binding: socket gives the cores of all NUMA nodes of the GPU's socket") {
  CHECK(on_two_sockets(Binding::socket, {1, 2}) == "0-7,16-23 8-15,24-31");
}

TEST_CASE("binding: exclusive shares a node's physical cores, the first get one more") {
  CHECK(on_two_sockets(Binding::exclusive, {1}) == "4-7,20-23");
  CHECK(on_two_sockets(Binding::exclusive, {1, 1, 2}) == "4-5,20-21 6-7,22-23 8-11,24-27");
  CHECK(on_two_sockets(Binding::exclusive, {1, 1, 1}) == "4-5,20-21 6,22 7,23");
  CHECK(on_cores(Binding::exclusive, 2, 2) == "0 1");
}

TEST_CASE("binding: exclusive with fewer physical cores than workers is refused") {
  CHECK(on_two_sockets(Binding::exclusive, {1, 1, 1, 1, 1}) ==
        "--x: 'y' gives each worker cores of its own, but 5 workers have 4 physical cores: "
        "4-7,20-23; start fewer workers, or let them share the cores of a NUMA node");
}

TEST_CASE("binding: core-complex gives caches in turn, those with more cores first") {
  CHECK(on_two_sockets(Binding::core_complex, {1, 1, 1}) == "4-5,20-21 6-7,22-23 4-5,20-21");
  CHECK(on_two_sockets(Binding::core_complex, {1, 1}, {5, 6, 7}) == "6-7 5");
}

TEST_CASE("binding: what Linux does not tell is named, and what to write instead") {
  const CoreSet all = cores_up_to(3);
  const Topology nothing = ShownMachine().seen(all);
  CHECK(bound(Binding::core_complex, nothing, all, {-1}) ==
        "--x: 'y' needs the caches of core 0, which /sys/devices/system/cpu does not tell; write "
        "exclusive or node");
  CHECK(bound(Binding::socket, nothing, all, {-1}) ==
        "--x: 'y' needs the socket of core 0, which /sys/devices/system/cpu does not tell; write "
        "node");
  CHECK(bound(Binding::node, nothing, all, {-1, 2}) == "0-3 0-3");  // the machine is one node
  CHECK(bound(Binding::exclusive, nothing, all, {-1, 2}) == "0-1 2-3");
}

TEST_CASE("binding: workers without a known GPU are spread over the nodes") {
  CHECK(on_two_sockets(Binding::node, {-1, -1}) == "0-3,16-19 8-11,24-27");
  CHECK(on_two_sockets(Binding::node, {-1, 9, 3}) == "0-3,16-19 8-11,24-27 12-15,28-31");
  CHECK(on_two_sockets(Binding::exclusive, std::vector<int>(8, -1)) ==
        "0-1,16-17 2-3,18-19 4-5,20-21 6-7,22-23 8-9,24-25 10-11,26-27 12-13,28-29 14-15,30-31");
}

TEST_CASE("binding: only cores that the launcher may use are given") {
  CHECK(on_two_sockets(Binding::node, {1, 3}, {4, 5, 21, 28}) == "4-5,21 28");
  CHECK(on_two_sockets(Binding::socket, {0, 2}, {3, 7, 9}) == "3,7 9");
  // No core of the GPU's node is among them.
  CHECK(on_two_sockets(Binding::node, {0}, {4, 5}) == "4-5");
  CHECK(on_two_sockets(Binding::exclusive, {0, 0, 2}, {1, 2, 17, 18, 3, 9}) == "1-2,17-18 3 9");
  // As many workers as there are cores have one each, however these lie.
  CHECK(on_two_sockets(Binding::exclusive, {-1, -1, -1, -1}, {0, 4, 5, 6}) == "0 4 5 6");
}

TEST_CASE("binding: lists are taken as they are, as far as they are allowed") {
  const BindOptions lists{Binding::listed, {{0, 1}, {2, 3}}, "--cpu-bind: '0-1:2-3'"};
  const auto workers = bind_workers(lists, {}, {0, 1, 2}, {-1, -1});
  REQUIRE(workers.has_value());
  CHECK(*workers == std::vector<CoreSet>{{0, 1}, {2}});
  CHECK(bind_workers(lists, {}, {0, 1}, {-1, -1}).error().message() ==
        "--cpu-bind: '0-1:2-3' leaves worker 1 no core: of 2-3 none may be used here; choose "
        "among 0-1");
  CHECK(bind_workers(lists, {}, {0, 1, 2}, {-1, -1, -1}).error().message() ==
        "--cpu-bind: '0-1:2-3' has 2 lists for 3 workers; write one list for each worker of the "
        "node, such as 0-3:4-7");
}

TEST_CASE("binding: threads are a worker's cores, or its share of those that others have too") {
  CHECK(threads_of({{0, 1, 2, 3}, {4}}) == std::vector<int>{4, 1});
  CHECK(threads_of({{0, 1, 2, 3}, {0, 1, 2, 3}}) == std::vector<int>{2, 2});
  CHECK(threads_of({{0, 1, 2}, {2, 3, 4}}) == std::vector<int>{1, 1});
  CHECK(threads_of({{0}, {0}}) == std::vector<int>{1, 1});
  CHECK(threads_of({}).empty());
}

}  // namespace
}  // namespace ddprun
