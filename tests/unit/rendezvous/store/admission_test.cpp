#include "rendezvous/store/admission.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

IpAddress peer(const std::string& text) {
  return parse_ip_address(text).value();
}

TEST_CASE("admission: the nodes' addresses and the host's own are admitted, and nobody else") {
  const Admission admission({peer("10.0.0.1"), peer("fd00::2")}, {});
  for (const char* text : {"10.0.0.1", "::ffff:10.0.0.1", "fd00::2", "127.0.0.1", "::1"}) {
    INFO(text);
    CHECK(admission.admits(peer(text)));
  }
  for (const char* text : {"10.0.0.2", "fd00::1", "0.0.0.0", "::"}) {
    INFO(text);
    CHECK_FALSE(admission.admits(peer(text)));
  }
}

TEST_CASE("admission: whole networks are admitted where the user names them") {
  const Admission admission({}, {*parse_ip_network("10.1.0.0/16"), *parse_ip_network("fd01::/32")});
  CHECK(admission.admits(peer("10.1.2.3")));
  CHECK(admission.admits(peer("fd01::9")));
  CHECK_FALSE(admission.admits(peer("10.2.0.1")));
}

TEST_CASE("admission: a peer that is refused is named once, with what to do") {
  Admission admission({}, {});
  CHECK(admission.refuse(peer("10.0.0.9")) ==
        "store: refused 10.0.0.9, which is no address of this generation's nodes; to admit "
        "it, for example behind NAT, add --store-allow 10.0.0.9 on all nodes");
  CHECK_FALSE(admission.refuse(peer("10.0.0.9")));
  CHECK(admission.refuse(peer("10.0.0.8")));
}

TEST_CASE("admission: many peers that are refused are not all named") {
  Admission admission({}, {});
  std::size_t named = 0;
  std::string last;
  for (int i = 0; i < 250; ++i) {
    const auto said = admission.refuse(peer("10.0.0." + std::to_string(i)));
    if (!said) continue;
    ++named;
    last = *said;
  }
  CHECK(named == Admission::named_max);
  CHECK(last.ends_with("; further addresses are not reported"));
}

}  // namespace
}  // namespace ddprun
