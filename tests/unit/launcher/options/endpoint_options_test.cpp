#include "launcher/options/endpoint_options.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

struct AskedOfEndpoints {
  Settings settings{{"nnodes", {"2", "the command line"}},
                    {"rdzv-endpoint", {"", "default"}},
                    {"master-addr", {"", "default"}},
                    {"master-port", {"", "default"}}};
  int nodes_min = 2;
  int nodes_max = 2;

  AskedOfEndpoints& with(const std::string& name, const std::string& value) {
    settings[name] = {value, "the command line"};
    return *this;
  }
  AskedOfEndpoints& of_nodes(int low, int high) {
    nodes_min = low;
    nodes_max = high;
    return *this;
  }
  [[nodiscard]] RendezvousOptions options() const {
    RendezvousOptions read = empty();
    const auto done = read_endpoints(settings, read);
    REQUIRE_MESSAGE(done.has_value(), done.error().message());
    return read;
  }
  [[nodiscard]] std::string error() const {
    RendezvousOptions read = empty();
    const auto done = read_endpoints(settings, read);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().status() == ExitStatus::usage);
    return done.error().message();
  }

 private:
  [[nodiscard]] RendezvousOptions empty() const {
    RendezvousOptions options;
    options.gathering.nodes_min = nodes_min;
    options.gathering.nodes_max = nodes_max;
    return options;
  }
};

TEST_CASE("endpoint options: any port will do where no other node is needed") {
  const auto at = [](const std::string& endpoint) {
    return AskedOfEndpoints().with("rdzv-endpoint", endpoint);
  };
  CHECK(at("localhost:0").of_nodes(1, 4).options().endpoint == Endpoint{"localhost", 0});
  CHECK(at("localhost:0").of_nodes(1, 1).options().endpoint == Endpoint{"localhost", 0});
  CHECK(at("n0:0").error() ==
        "--rdzv-endpoint: 'n0:0' from the command line leaves the port open, so that other nodes "
        "cannot find it; write a port such as 29400");
  CHECK(AskedOfEndpoints().with("master-addr", "n0").with("master-port", "0").error() ==
        "--master-port: '0' from the command line leaves the port open, so that other nodes cannot "
        "find it; write a port such as 29400");
}

TEST_CASE("endpoint options: the workers of one node meet where torchrun's options say") {
  const auto store = [](AskedOfEndpoints asked) { return asked.of_nodes(1, 1).options().store; };
  CHECK_FALSE(store(AskedOfEndpoints()));
  CHECK_FALSE(store(AskedOfEndpoints().with("rdzv-endpoint", "n0:7")));
  CHECK(store(AskedOfEndpoints().with("master-port", "8")) == Endpoint{"127.0.0.1", 8});
  CHECK(store(AskedOfEndpoints().with("master-addr", "localhost")) == Endpoint{"localhost", 0});
  CHECK(store(AskedOfEndpoints().with("master-addr", "::1").with("master-port", "8")) ==
        Endpoint{"::1", 8});
  CHECK(AskedOfEndpoints().with("master-port", "65536").error() ==
        "--master-port: '65536' from the command line is no port; write 0 to 65535");
}

TEST_CASE("endpoint options: a host with a port of its own does not contradict --master-port") {
  const auto at = [](const std::string& host, const std::string& port) {
    return AskedOfEndpoints().with("master-addr", host).with("master-port", port);
  };
  CHECK(AskedOfEndpoints().with("master-addr", "n0:7").options().endpoint == Endpoint{"n0", 7});
  CHECK(at("n0:7", "7").options().endpoint == Endpoint{"n0", 7});
  CHECK(at("[fd00::1]:7", "7").options().endpoint == Endpoint{"fd00::1", 7});
  CHECK(at("n0:7", "8").error() ==
        "--master-addr: 'n0:7' from the command line contradicts --master-port, which is 8 by the "
        "command line; write the host alone");
  CHECK(at("[fd00::1]:7", "0").of_nodes(1, 1).error().ends_with("; write the host alone"));
}

TEST_CASE("endpoint options: what is no host is refused, and no port is asked for") {
  for (const char* host : {"a b", "n0,n1", "n0:x", "n0:", "[::1"}) {
    CAPTURE(host);
    CHECK(AskedOfEndpoints().with("master-addr", host).error() ==
          "--master-addr: '" + std::string(host) +
              "' from the command line is no address; write a host alone, by name or address");
  }
}

TEST_CASE("endpoint options: many nodes meet there, and their workers' store is elsewhere") {
  const RendezvousOptions fixed = AskedOfEndpoints().with("master-addr", "n0").options();
  CHECK(fixed.endpoint == Endpoint{"n0", 29'500});
  CHECK_FALSE(fixed.store);
  CHECK_FALSE(AskedOfEndpoints().with("master-port", "8").options().endpoint);
}

}  // namespace
}  // namespace ddprun
