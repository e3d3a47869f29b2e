#include "rendezvous/store/admission.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

namespace ddprun {
namespace {

IpAddress peer(const std::string& text) {
  return parse_ip_address(text).value();
}

bool admits(const Admission& admission, const std::string& text) {
  return admission.objection({peer("10.0.0.1"), 29'500}, {peer(text), 40'000}).empty();
}

std::optional<std::string> refuse(Admission& admission,
                                  const std::string& text,
                                  const std::string& why) {
  return admission.refuse({peer("10.0.0.1"), 29'500}, {peer(text), 40'000}, why);
}

constexpr const char* not_a_node = "which is no address of this generation's nodes";

TEST_CASE("admission: the nodes' addresses and the host's own are admitted, and nobody else") {
  const Admission admission({peer("10.0.0.1")}, {peer("fd00::2")}, {});
  for (const char* text : {"10.0.0.1", "::ffff:10.0.0.1", "fd00::2", "127.0.0.1", "::1"}) {
    INFO(text);
    CHECK(admits(admission, text));
  }
  for (const char* text : {"10.0.0.2", "fd00::1", "0.0.0.0", "::"}) {
    INFO(text);
    CHECK_FALSE(admits(admission, text));
  }
}

TEST_CASE("admission: whole networks are admitted where the user names them") {
  const Admission admission(
      {}, {}, {*parse_ip_network("10.1.0.0/16"), *parse_ip_network("fd01::/32")});
  CHECK(admits(admission, "10.1.2.3"));
  CHECK(admits(admission, "fd01::9"));
  CHECK_FALSE(admits(admission, "10.2.0.1"));
}

TEST_CASE("admission: the host's own processes are looked at here, those of other nodes there") {
  const Admission admission({peer("10.0.0.1")},
                            {peer("10.0.0.3"), peer("10.1.0.3"), peer("10.0.0.1")},
                            {*parse_ip_network("10.1.0.0/16")},
                            [](const IpEndpoint&, const IpEndpoint&) { return "another user"; });
  CHECK(admits(admission, "10.1.2.3"));
  CHECK(admission.objection({peer("127.0.0.1"), 1}, {peer("127.0.0.1"), 2}) == "another user");
  CHECK(admission.objection({peer("10.0.0.1"), 1}, {peer("10.0.0.1"), 2}) == "another user");
  CHECK(admission.objection({peer("10.0.0.1"), 1}, {peer("10.0.0.2"), 2}) == not_a_node);
  CHECK(admits(admission, "10.0.0.3"));
  CHECK(admission.is_another_nodes(peer("10.0.0.3")));
  CHECK(admission.goes_by_user(peer("10.0.0.3")));
  CHECK(admission.goes_by_user(peer("127.0.0.1")));
  CHECK_FALSE(admission.goes_by_user(peer("10.1.0.3")));
  CHECK_FALSE(Admission({peer("10.0.0.1")}, {}, {}).goes_by_user(peer("10.0.0.1")));
  for (const char* text : {"10.1.0.3", "10.0.0.1", "10.0.0.2", "127.0.0.1"}) {
    INFO(text);
    CHECK_FALSE(admission.is_another_nodes(peer(text)));
  }
}

TEST_CASE("admission: without a job, whoever is in no network may be objected to, loopback too") {
  const Admission admission =
      Admission::without_job({*parse_ip_network("10.1.0.0/16")},
                             [](const IpEndpoint& local, const IpEndpoint& remote) -> std::string {
                               CHECK(local.port == 29'500);
                               return remote.port == 40'000 ? "whose process belongs to uid 7" : "";
                             });
  CHECK(admits(admission, "10.1.2.3"));
  CHECK_FALSE(admits(admission, "127.0.0.1"));
  CHECK(admission.objection({peer("127.0.0.1"), 29'500}, {peer("127.0.0.1"), 1}).empty());
}

TEST_CASE("admission: who is refused for his user, on this machine, is not told of NAT") {
  const std::string why = "whose process belongs to uid 7";
  Admission of_job({}, {}, {});
  for (const std::string here : {"127.0.0.1", "10.0.0.1"}) {  // the second is where it connects to
    CHECK(refuse(of_job, here, why) ==
          "store: refused " + here +
              ", whose process belongs to uid 7; to admit all users of this machine, add "
              "--store-allow " +
              here + " on all nodes");
  }
  Admission without_job = Admission::without_job({}, nullptr);
  CHECK(refuse(without_job, "127.0.0.1", why) ==
        "store: refused 127.0.0.1, whose process belongs to uid 7; to admit all users of this "
        "machine, add --allow 127.0.0.1");
  CHECK(refuse(without_job, "10.0.0.9", "which is no process there") ==
        "store: refused 10.0.0.9, which is no process there; to admit it, add --allow "
        "10.0.0.9");
}

TEST_CASE("admission: who is refused for his user, on another node, is not told of NAT either") {
  Admission admission({}, {peer("10.0.0.9")}, {});
  CHECK(refuse(admission, "10.0.0.9", "whose process belongs to uid 7") ==
        "store: refused 10.0.0.9, whose process belongs to uid 7; to admit all users of that node, "
        "add --store-allow 10.0.0.9 on all nodes");
}

TEST_CASE("admission: a peer that is refused is named once, with what to do") {
  Admission admission({}, {}, {});
  CHECK(refuse(admission, "10.0.0.9", not_a_node) ==
        "store: refused 10.0.0.9, which is no address of this generation's nodes; to admit "
        "it, for example behind NAT, add --store-allow 10.0.0.9 on all nodes");
  CHECK_FALSE(refuse(admission, "10.0.0.9", not_a_node));
  CHECK(refuse(admission, "10.0.0.8", not_a_node));
}

TEST_CASE("admission: many peers that are refused are not all named") {
  Admission admission({}, {}, {});
  std::size_t named = 0;
  std::string last;
  for (int i = 0; i < 250; ++i) {
    const auto said = refuse(admission, "10.0.0." + std::to_string(i), not_a_node);
    if (!said) continue;
    ++named;
    last = *said;
  }
  CHECK(named == Admission::named_max);
  CHECK(last.ends_with("; further addresses are not reported"));
}

}  // namespace
}  // namespace ddprun
