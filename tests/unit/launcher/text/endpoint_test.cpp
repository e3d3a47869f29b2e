#include "launcher/text/endpoint.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

TEST_CASE("endpoint: names, addresses of both kinds, with and without a port") {
  const std::vector<std::pair<std::string, Endpoint>> table{
      {"n0", {"n0", 7}},
      {"n0:29400", {"n0", 29'400}},
      {"10.0.0.1:1", {"10.0.0.1", 1}},
      {"[fd00::1]:65535", {"fd00::1", 65'535}},
      {"[fd00::1]", {"fd00::1", 7}},
      {"fd00::1", {"fd00::1", 7}},
      {"::1", {"::1", 7}},
      {"[fe80::1%eth0]:8", {"fe80::1%eth0", 8}},
  };
  for (const auto& row : table) {
    INFO(row.first);
    CHECK(parse_endpoint(row.first, 7) == row.second);
  }
}

TEST_CASE("endpoint: what is none is not taken for one") {
  const std::string too_long(256, 'n');
  for (const std::string& text : {std::string(),
                                  std::string(":29400"),
                                  std::string("n0:"),
                                  std::string("n0:65536"),
                                  std::string("n0:-1"),
                                  std::string("n0:x"),
                                  std::string("n 0:1"),
                                  std::string("n0,n1"),
                                  std::string("tcp://n0:1"),
                                  std::string("[fd00::1"),
                                  std::string("[fd00::1]:"),
                                  std::string("[fd00::1]7"),
                                  std::string("[]:7"),
                                  too_long}) {
    INFO(text);
    CHECK_FALSE(parse_endpoint(text, 7));
  }
}

TEST_CASE("endpoint: as text it can be read again") {
  CHECK(text_of({"n0", 29'400}) == "n0:29400");
  CHECK(text_of({"fd00::1", 29'400}) == "[fd00::1]:29400");
}

}  // namespace
}  // namespace ddprun
