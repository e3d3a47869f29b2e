#include "launcher/commands/store_bind.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ddprun {
namespace {

const std::vector<Interface> bind_interfaces{
    {"lo", "127.0.0.1"}, {"eth0", "fe80::1%eth0"}, {"eth0", "10.0.0.1"}, {"eth1", "fe80::2%eth1"}};

Result<std::string> bind_to(const std::string& named, const std::string& allowed = "") {
  StoreCommandOptions options{.bind = named};
  if (!allowed.empty()) options.allow = {*parse_ip_network(allowed)};
  return address_to_bind(options, bind_interfaces);
}

std::string bind_refusal(const std::string& named, const std::string& allowed = "") {
  const auto address = bind_to(named, allowed);
  return address ? "" : address.error().message();
}

TEST_CASE("store bind: this user's processes come by 127.0.0.1, other machines to all addresses") {
  CHECK(bind_to("").value() == "127.0.0.1");
  CHECK(bind_to("", "10.0.0.0/8").value() == "::");
}

TEST_CASE("store bind: an address stands for itself, an interface for its first that is routed") {
  CHECK(bind_to("192.0.2.1").value() == "192.0.2.1");
  CHECK(bind_to("::").value() == "::");
  CHECK(bind_to("lo").value() == "127.0.0.1");
  CHECK(bind_to("eth0").value() == "10.0.0.1");
  CHECK(bind_refusal("eth77\n") ==
        "--bind: 'eth77?' from the command line is neither an address nor an interface of this "
        "machine that has one; ip -brief address lists both");
}

TEST_CASE("store bind: a link-local address has its interface behind it, and needs --allow") {
  CHECK(bind_to("fe80::1%eth0", "fe80::/10").value() == "fe80::1%eth0");
  CHECK(bind_to("eth1", "fe80::/10").value() == "fe80::2%eth1");
  for (const std::string named : {"fe80::1", "fe80::1%", "fe80::1%eth1", "fe80::3%eth0"}) {
    CHECK(bind_refusal(named, "fe80::/10") ==
          "--bind: '" + named +
              "' from the command line is link-local, and is not followed by % and an interface "
              "with that address; ip -brief address lists the addresses of each interface");
  }
  CHECK(bind_refusal("eth1") ==
        "--bind: 'eth1' from the command line leads to fe80::2%eth1, which is link-local: the "
        "kernel does not tell which user connects there; add --allow, or bind another address");
}

}  // namespace
}  // namespace ddprun
