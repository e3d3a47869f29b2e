#include "launcher/meeting/interfaces.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace ddprun {
namespace {

TEST_CASE("interfaces: the loopback is there by its name and address") {
  CHECK(std::ranges::count(network_interfaces(), Interface{"lo", "127.0.0.1"}) == 1);
}

TEST_CASE("interfaces: an address leads to itself, and what nobody knows to nothing") {
  CHECK(addresses_of("127.0.0.1") == std::vector<std::string>{"127.0.0.1"});
  CHECK(addresses_of("fd00::1") == std::vector<std::string>{"fd00::1"});
  CHECK(addresses_of("no host has a name like this one").empty());
  CHECK(addresses_of("").empty());
}

TEST_CASE("interfaces: this node's address on the way to itself is its own") {
  CHECK(address_towards({"127.0.0.1"}) == "127.0.0.1");
  CHECK(address_towards({"no address", "127.0.0.1"}) == "127.0.0.1");
  CHECK(address_towards({"no address"}).empty());
  CHECK(address_towards({}).empty());
}

}  // namespace
}  // namespace ddprun
