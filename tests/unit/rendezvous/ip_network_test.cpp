#include "rendezvous/ip_network.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

IpAddress ip(const std::string& text) {
  const auto address = parse_ip_address(text);
  REQUIRE_MESSAGE(address, text);
  return *address;
}

bool contains(const std::string& network, const std::string& address) {
  const auto parsed = parse_ip_network(network);
  REQUIRE_MESSAGE(parsed, network);
  return parsed->contains(ip(address));
}

TEST_CASE("ip network: an address has one value and one text, however it is written") {
  for (const char* text : {"10.0.0.1", "0.0.0.0", "255.255.255.255", "fd00::1", "::", "::1"}) {
    CHECK(text_of(ip(text)) == text);
  }
  CHECK(ip("::ffff:10.0.0.1") == ip("10.0.0.1"));
  CHECK(ip("fd00:0:0::0001") == ip("fd00::1"));
  CHECK(ip("fe80::1%eth0") == ip("fe80::1"));
  CHECK(ip("10.0.0.1") != ip("10.0.0.2"));
}

TEST_CASE("ip network: a network has the addresses that begin as it does, and no others") {
  CHECK(contains("10.1.0.0/16", "10.1.255.3"));
  CHECK_FALSE(contains("10.1.0.0/16", "10.2.0.0"));
  CHECK(contains("10.1.7.7/16", "10.1.0.1"));
  CHECK(contains("10.0.0.8/29", "10.0.0.15"));
  CHECK_FALSE(contains("10.0.0.8/29", "10.0.0.16"));
  CHECK_FALSE(contains("10.0.0.8/29", "10.0.0.7"));
  CHECK(contains("10.0.0.1", "10.0.0.1"));
  CHECK_FALSE(contains("10.0.0.1", "10.0.0.3"));
  CHECK(contains("0.0.0.0/0", "1.2.3.4"));
  CHECK_FALSE(contains("0.0.0.0/0", "fd00::1"));
  CHECK(contains("::/0", "1.2.3.4"));
  CHECK(contains("fd00::/8", "fdff::1"));
  CHECK_FALSE(contains("fd00::/8", "fe00::1"));
  CHECK(contains("fd00::4/127", "fd00::5"));
  CHECK_FALSE(contains("fd00::4/127", "fd00::6"));
}

TEST_CASE("ip network: what is none is not taken for one") {
  for (const char* text : {"",
                           "n0",
                           "10.0.0",
                           "10.0.0.256",
                           "10.0.0.1/",
                           "10.0.0.0/33",
                           "10.0.0.0/-1",
                           "10.0.0.0/8x",
                           "/8",
                           "fd00::/129",
                           "fd00:::1"}) {
    INFO(text);
    CHECK_FALSE(parse_ip_network(text));
  }
}

TEST_CASE("ip network: loopback and link-local addresses are known") {
  CHECK(is_loopback(ip("127.0.0.1")));
  CHECK(is_loopback(ip("127.1.2.3")));
  CHECK(is_loopback(ip("::1")));
  CHECK_FALSE(is_loopback(ip("128.0.0.1")));
  CHECK(is_link_local(ip("fe80::1%eth0")));
  CHECK_FALSE(is_link_local(ip("fd00::1")));
}

}  // namespace
}  // namespace ddprun
