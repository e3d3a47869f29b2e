#include "launcher/rendezvous_plan.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ddprun {
namespace {

const std::vector<Interface> interfaces{{"lo", "127.0.0.1"},
                                        {"eth0", "10.0.0.1"},
                                        {"ib0", "10.1.0.1"},
                                        {"lo", "::1"},
                                        {"eth0", "fe80::1%eth0"},
                                        {"eth0", "fd00::1"}};

RendezvousOptions options() {
  RendezvousOptions made;
  made.gathering.nodes_max = 2;
  made.endpoint = Endpoint{"n0", 29'400};
  return made;
}

/// Of a node on which the endpoint's name leads to `addresses`.
Result<RendezvousPlan> plan(const std::vector<std::string>& addresses,
                            const RendezvousOptions& asked = options()) {
  return plan_rendezvous(asked, {"n1", interfaces, addresses});
}

TEST_CASE("rendezvous plan: the head is the node that has the endpoint's address") {
  CHECK(plan({"10.0.0.1"}).value() == RendezvousPlan{true, "10.0.0.1", "", "10.0.0.1"});
  CHECK(plan({"fd00::1"}).value() == RendezvousPlan{true, "fd00::1", "", "fd00::1"});
  CHECK(plan({"10.0.0.2", "10.1.0.1"}).value() == RendezvousPlan{true, "10.1.0.1", "", "10.1.0.1"});
  CHECK(plan({"10.0.0.2"}).value() == RendezvousPlan{});
  CHECK(plan({}).value() == RendezvousPlan{});  // nobody knows the name
}

TEST_CASE("rendezvous plan: Debian's address for a host's own name makes it the head") {
  CHECK(plan({"127.0.1.1"}).value() == RendezvousPlan{true, "0.0.0.0", "", "10.0.0.1"});
}

TEST_CASE("rendezvous plan: an address that every node has says nothing") {
  for (const char* address : {"127.0.0.1", "::1", "127.0.0.2"}) {
    CHECK(plan({address}).error().message() ==
          "--rdzv-endpoint: n0:29400 is an address that every node has; write the name or address "
          "of one node, or say which one it is by --node-rank");
  }
}

TEST_CASE("rendezvous plan: whoever is told its place needs no addresses") {
  RendezvousOptions first = options();
  first.node_rank = NodeId{0};
  CHECK(plan({"127.0.0.1"}, first).value() == RendezvousPlan{true, "0.0.0.0", "", "127.0.0.1"});
  CHECK(plan({"192.168.7.7"}, first).value() == RendezvousPlan{true, "0.0.0.0", "", "10.0.0.1"});
  CHECK(plan({}, first).value() == RendezvousPlan{true, "0.0.0.0", "", "10.0.0.1"});
  RendezvousOptions second = options();
  second.node_rank = NodeId{1};
  CHECK(plan({"10.0.0.1"}, second).value() == RendezvousPlan{});
  second.is_host = true;
  CHECK(plan({"10.0.0.1"}, second).value().is_head);
  first.is_host = false;
  CHECK_FALSE(plan({"10.0.0.1"}, first).value().is_head);
}

TEST_CASE("rendezvous plan: a node's address for others can be chosen") {
  RendezvousOptions asked = options();
  asked.interface = "ib0";
  CHECK(plan({"10.0.0.2"}, asked).value().chosen_address == "10.1.0.1");
  asked.interface = "10.1.0.0/16";
  CHECK(plan({"10.0.0.2"}, asked).value().chosen_address == "10.1.0.1");
  asked.interface = "fd00::/64";
  CHECK(plan({"10.0.0.2"}, asked).value().chosen_address == "fd00::1");
  asked.interface = "eth7";
  CHECK(plan({"10.0.0.2"}, asked).error().message() ==
        "--interface: 'eth7' is neither an interface of n1 nor a network with one of its "
        "addresses; it has lo 127.0.0.1, eth0 10.0.0.1, ib0 10.1.0.1, lo ::1, eth0 fe80::1%eth0, "
        "eth0 fd00::1");
  asked = options();
  asked.hostname_suffix = "i";
  CHECK(plan({"10.0.0.2"}, asked).value().chosen_address == "n1i");
  asked.advertise = "n1.example.org";
  CHECK(plan({"10.0.0.2"}, asked).value().chosen_address == "n1.example.org");
}

TEST_CASE(
    "rendezvous plan: a store listens where it is reached, and nowhere else if that is known") {
  CHECK(store_address("10.0.0.1", interfaces) == "10.0.0.1");
  CHECK(store_address("n1i", interfaces) == "0.0.0.0");
  CHECK(store_address("fd00::9", interfaces) == "::");
  CHECK(interface_of("10.1.0.1", interfaces) == "ib0");
  CHECK(interface_of("10.1.0.2", interfaces).empty());
}

}  // namespace
}  // namespace ddprun
