#include "launcher/meeting/rendezvous_plan.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

const std::vector<Interface> interfaces{{"lo", "127.0.0.1"},
                                        {"eth0", "10.0.0.1"},
                                        {"ib0", "10.1.0.1"},
                                        {"lo", "::1"},
                                        {"eth0", "fe80::1%eth0"},
                                        {"eth0", "fd00::1"}};

constexpr std::uint16_t endpoint_port = 29'400;

RendezvousOptions options() {
  RendezvousOptions made;
  made.gathering.nodes_max = 2;
  made.endpoint = Endpoint{"n0", endpoint_port};
  return made;
}

/// Of a node on which the endpoint's name leads to `addresses`.
Result<RendezvousPlan> plan(const std::vector<std::string>& addresses,
                            const RendezvousOptions& asked = options()) {
  return plan_rendezvous(asked, {"n1", interfaces, addresses, "10.1.0.1"});
}

TEST_CASE("rendezvous plan: the workers of a node alone meet at an address of its own") {
  const auto alone = [](std::optional<Endpoint> store, std::vector<std::string> addresses) {
    RendezvousOptions asked;
    asked.store = std::move(store);
    asked.store_host_from = "--master-addr: 'n2:8' from PET_MASTER_ADDR";
    return plan_alone(asked, {"n1", interfaces, std::move(addresses), ""});
  };
  CHECK(alone({}, {"127.0.0.1"}).value().own_address == "127.0.0.1");
  CHECK(alone({}, {"127.0.0.1"}).value().interface == "lo");
  CHECK(alone(Endpoint{"localhost", 8}, {"::1", "127.0.0.1"}).value().own_address == "localhost");
  CHECK(alone(Endpoint{"n1", 8}, {"10.0.0.9", "10.1.0.1"}).value().interface == "ib0");
  CHECK(alone(Endpoint{"n2", 8}, {"10.0.0.9"}).error().message() ==
        "--master-addr: 'n2:8' from PET_MASTER_ADDR is no address of this node: the workers of a "
        "job of one node meet on "
        "that node; leave it out, or raise --nnodes");
  CHECK_FALSE(alone(Endpoint{"nobody", 8}, {}).has_value());
}

TEST_CASE("rendezvous plan: the head is the node that has the endpoint's address") {
  CHECK(plan({"10.0.0.1"}).value() ==
        RendezvousPlan{true, true, "10.0.0.1", endpoint_port, "10.0.0.1", "eth0"});
  CHECK(plan({"fd00::1"}).value() ==
        RendezvousPlan{true, true, "fd00::1", endpoint_port, "fd00::1", "eth0"});
  CHECK(plan({"10.0.0.2", "10.1.0.1"}).value() ==
        RendezvousPlan{true, true, "10.1.0.1", endpoint_port, "10.1.0.1", "ib0"});
  CHECK_FALSE(plan({"10.0.0.2"}).value().is_head);
  CHECK_FALSE(plan({}).value().is_head);  // nobody knows the name
}

TEST_CASE("rendezvous plan: a head with several of the endpoint's addresses listens on all") {
  CHECK(plan({"10.0.0.1", "10.1.0.1"}).value() ==
        RendezvousPlan{true, true, "::", endpoint_port, "10.0.0.1", "eth0"});
  const std::vector<Interface> old{{"lo", "127.0.0.1"}, {"eth0", "10.0.0.1"}, {"ib0", "10.1.0.1"}};
  CHECK(plan_rendezvous(options(), {"n1", old, {"10.0.0.1", "10.1.0.1"}, ""}).value() ==
        RendezvousPlan{true, true, "0.0.0.0", endpoint_port, "10.0.0.1", "eth0"});
}

TEST_CASE("rendezvous plan: a head with addresses of both families is reached by its name") {
  for (const std::vector<std::string>& both : {std::vector<std::string>{"fd00::1", "10.1.0.1"},
                                               std::vector<std::string>{"10.1.0.1", "fd00::1"}}) {
    const std::string interface = both.front() == "fd00::1" ? "eth0" : "ib0";
    CHECK(plan(both).value() == RendezvousPlan{true, true, "::", endpoint_port, "n0", interface});
    RendezvousOptions asked = options();
    asked.advertise = "10.0.0.1";
    CHECK(plan(both, asked).value() ==
          RendezvousPlan{true, true, "::", endpoint_port, "10.0.0.1", "eth0"});
    asked.advertise = both.front();
    CHECK(plan(both, asked).value() ==
          RendezvousPlan{true, true, "::", endpoint_port, both.front(), interface});
  }
}

TEST_CASE("rendezvous plan: the others listen too, at the same port where that is no head's") {
  const RendezvousPlan other{false, false, "10.1.0.1", endpoint_port, "10.1.0.1", "ib0"};
  CHECK(plan({"10.0.0.2"}).value() == other);
  CHECK(plan({}).value() == other);
  RendezvousOptions second = options();
  second.node_rank = NodeId{1};
  const RendezvousPlan beside_head{false, true, "10.1.0.1", 0, "10.1.0.1", "ib0"};
  CHECK(plan({"10.0.0.1"}, second).value() == beside_head);
  RendezvousPlan on_one_host = beside_head;
  on_one_host.is_on_one_host = true;
  CHECK(plan({"127.0.0.1"}, second).value() == on_one_host);
}

TEST_CASE("rendezvous plan: a node at another door listens at that one's port") {
  const auto port_of = [](const std::vector<std::string>& endpoint) {
    return plan_rendezvous(options(), {"n1", interfaces, endpoint, "10.1.0.1", 4'711})
        .value()
        .listen_port;
  };
  CHECK(port_of({"10.0.0.2"}) == 4'711);
  CHECK(port_of({"10.0.0.1"}) == endpoint_port);  // the head's own is the endpoint's
}

TEST_CASE("rendezvous plan: where no way leads to the endpoint, others have the first address") {
  const RendezvousPlan other = plan_rendezvous(options(), {"n1", interfaces, {}, ""}).value();
  CHECK(other.own_address == "10.0.0.1");
  const RendezvousPlan alone = plan_rendezvous(options(), {"n1", {}, {}, ""}).value();
  CHECK(alone.own_address == "127.0.0.1");
}

TEST_CASE("rendezvous plan: Debian's address for a host's own name makes it the head") {
  CHECK(plan({"127.0.1.1"}).value() ==
        RendezvousPlan{true, true, "::", endpoint_port, "10.0.0.1", "eth0"});
}

TEST_CASE("rendezvous plan: an address that every node has is this one's, for all agents here") {
  for (const char* address : {"127.0.0.1", "::1", "127.0.0.2"}) {
    const RendezvousPlan first = plan({address}).value();
    CHECK(first.is_head);  // unless its port is taken
    CHECK(first.is_at_endpoint);
    CHECK(first.is_on_one_host);
    CHECK(first.own_address == address);
    CHECK(first.listen_address == address);  // nobody comes from elsewhere
    RendezvousOptions asked = options();
    asked.advertise = "10.0.0.1";
    CHECK(plan({address}, asked).value().listen_address == "::");
  }
}

TEST_CASE("rendezvous plan: whoever is told its place needs no addresses") {
  RendezvousOptions first = options();
  first.node_rank = NodeId{0};
  CHECK(plan({"127.0.0.1"}, first).value() ==
        RendezvousPlan{true, true, "127.0.0.1", endpoint_port, "127.0.0.1", "lo", true});
  CHECK(plan({"192.168.7.7"}, first).value() ==
        RendezvousPlan{true, false, "::", endpoint_port, "10.0.0.1", "eth0"});
  CHECK(plan({}, first).value() ==
        RendezvousPlan{true, false, "::", endpoint_port, "10.0.0.1", "eth0"});
  RendezvousOptions second = options();
  second.node_rank = NodeId{1};
  CHECK_FALSE(plan({"10.0.0.1"}, second).value().is_head);
  second.is_host = true;
  CHECK(plan({"10.0.0.1"}, second).value().is_head);
  first.is_host = false;
  CHECK_FALSE(plan({"10.0.0.1"}, first).value().is_head);
}

TEST_CASE("rendezvous plan: a node's address for others can be chosen") {
  RendezvousOptions asked = options();
  asked.interface = "ib0";
  CHECK(plan({"10.0.0.2"}, asked).value().own_address == "10.1.0.1");
  asked.interface = "10.1.0.0/16";
  CHECK(plan({"10.0.0.2"}, asked).value().own_address == "10.1.0.1");
  asked.interface = "fd00::/64";
  CHECK(plan({"10.0.0.2"}, asked).value().own_address == "fd00::1");
  asked.interface = "eth7";
  CHECK(plan({"10.0.0.2"}, asked).error().message() ==
        "--interface: 'eth7' is neither an interface of n1 nor a network with one of its "
        "addresses; it has lo 127.0.0.1, eth0 10.0.0.1, ib0 10.1.0.1, lo ::1, eth0 fe80::1%eth0, "
        "eth0 fd00::1");
  asked = options();
  asked.hostname_suffix = "i";
  CHECK(plan({"10.0.0.2"}, asked).value().own_address == "n1i");
  asked.advertise = "n1.example.org";
  CHECK(plan({"10.0.0.2"}, asked).value().own_address == "n1.example.org");
}

TEST_CASE("rendezvous plan: workers use the interface behind the name that others use") {
  RendezvousOptions asked = options();
  asked.hostname_suffix = "i";
  CHECK(advertised_name(asked, "n1") == "n1i");
  const auto interface_by = [&](std::vector<std::string> addresses) {
    NodeNetwork network{"n1", interfaces, {"10.0.0.2"}, "10.0.0.1"};
    network.advertised_addresses = std::move(addresses);
    return plan_rendezvous(asked, network).value().interface;
  };
  CHECK(interface_by({"10.1.0.1"}) == "ib0");
  CHECK(interface_by({"127.0.0.1", "192.0.2.7", "10.1.0.1"}) == "ib0");
  CHECK(interface_by({"127.0.0.1"}).empty());
  CHECK(interface_by({}).empty());
  asked.advertise = "10.0.0.1";
  CHECK(advertised_name(asked, "n1") == "10.0.0.1");
  CHECK(interface_by({"10.0.0.1"}) == "eth0");
  CHECK(advertised_name(options(), "n1").empty());
}

TEST_CASE("rendezvous plan: a head with another address than the endpoint's listens on both") {
  RendezvousOptions asked = options();
  asked.interface = "ib0";
  CHECK(plan({"10.0.0.1"}, asked).value() ==
        RendezvousPlan{true, true, "::", endpoint_port, "10.1.0.1", "ib0"});
  asked.interface = "eth0";
  CHECK(plan({"fd00::1"}, asked).value() ==
        RendezvousPlan{true, true, "::", endpoint_port, "10.0.0.1", "eth0"});
}

TEST_CASE(
    "rendezvous plan: a store listens where it is reached, and nowhere else if that is known") {
  CHECK(store_address("10.0.0.1", interfaces) == "10.0.0.1");
  CHECK(store_address("n1i", interfaces) == "::");
  CHECK(store_address("n1i", {{"eth0", "10.0.0.1"}}) == "0.0.0.0");
  CHECK(store_address("fd00::9", interfaces) == "::");
  CHECK(interface_of("10.1.0.1", interfaces) == "ib0");
  CHECK(interface_of("10.1.0.2", interfaces).empty());
}

TEST_CASE("rendezvous plan: others are told each address once by which this node may come") {
  const auto texts = [](const std::string& own, const std::string& interface) {
    RendezvousPlan plan;
    plan.own_address = own;
    plan.interface = interface;
    std::vector<std::string> all;
    for (const IpAddress& each : addresses_for_others(plan, interfaces))
      all.push_back(text_of(each));
    return all;
  };
  CHECK(texts("10.1.0.1", "ib0") == std::vector<std::string>{"10.1.0.1", "10.0.0.1", "fd00::1"});
  CHECK(texts("n1i", "") == std::vector<std::string>{"10.0.0.1", "10.1.0.1", "fd00::1"});
  CHECK(texts("n1i", "ib0").front() == "10.1.0.1");
  CHECK(texts("192.0.2.7", "ib0").front() == "192.0.2.7");
  std::vector<Interface> many;
  for (int i = 0; i < 20; ++i) many.push_back({"eth0", "10.0.0." + std::to_string(i)});
  RendezvousPlan plan;
  plan.own_address = "10.0.0.19";
  CHECK(addresses_for_others(plan, many).size() == Offer::addresses_max);
}

}  // namespace
}  // namespace ddprun
