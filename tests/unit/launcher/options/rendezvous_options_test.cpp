#include "launcher/options/rendezvous_options.hpp"

#include "launcher/options/option_table.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

namespace ddprun {
namespace {

/// What a user has set on the command line; the rest is as ever.
struct AskedOfNodes {
  Settings settings;

  AskedOfNodes() {
    for (const OptionSpec& option : option_table()) {
      settings[std::string(option.name)] = {std::string(option.fallback), "default"};
    }
  }
  AskedOfNodes& with(const std::string& name, const std::string& value) {
    settings[name] = {value, "the command line"};
    return *this;
  }
  [[nodiscard]] RendezvousOptions options() const {
    auto read = read_rendezvous_options(settings);
    REQUIRE_MESSAGE(read.has_value(), read.error().message());
    return *std::move(read);
  }
  [[nodiscard]] std::string error() const {
    const auto read = read_rendezvous_options(settings);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().status() == ExitStatus::usage);
    return read.error().message();
  }
};

AskedOfNodes meeting_at(const std::string& endpoint, const std::string& nodes = "2:4") {
  return AskedOfNodes().with("nnodes", nodes).with("rdzv-endpoint", endpoint);
}

TEST_CASE("rendezvous options: without any there is one node") {
  const RendezvousOptions options = AskedOfNodes().options();
  CHECK_FALSE(options.has_many_nodes());
  CHECK(options.gathering == GatheringOptions{});
  CHECK(options.times == LeaseTimes{});
  CHECK(options.join_policy == JoinPolicy::snapshot);
  CHECK_FALSE((options.endpoint || options.node_rank || options.is_host));
  CHECK_FALSE(options.requires_token);
}

TEST_CASE("rendezvous options: as torchrun has them") {
  const RendezvousOptions elastic = meeting_at("n0:4711").with("rdzv-id", "job7").options();
  CHECK(elastic.gathering.nodes_min == 2);
  CHECK(elastic.gathering.nodes_max == 4);
  CHECK(elastic.endpoint == Endpoint{"n0", 4'711});
  CHECK(elastic.job_id == "job7");
  CHECK(meeting_at("n0").options().endpoint == Endpoint{"n0", 29'400});
  const RendezvousOptions fixed =
      AskedOfNodes().with("nnodes", "2").with("master-addr", "n0").with("node-rank", "1").options();
  CHECK(fixed.gathering.nodes_min == 2);
  CHECK(fixed.gathering.nodes_max == 2);
  CHECK(fixed.endpoint == Endpoint{"n0", 29'500});
  CHECK(fixed.node_rank == NodeId{1});
  CHECK(AskedOfNodes()
            .with("nnodes", "2")
            .with("master-addr", "n0")
            .with("master-port", "8")
            .options()
            .endpoint == Endpoint{"n0", 8});
}

TEST_CASE("rendezvous options: a node has a place among those of the job") {
  const auto placed = [](const std::string& rank) {
    return meeting_at("n0").with("node-rank", rank).with("spares", "1");
  };
  CHECK(placed("4").options().node_rank == NodeId{4});
  CHECK(placed("6").error() ==
        "--node-rank: '6' from the command line is beyond the 5 nodes of the job; write 0 to 4, or "
        "raise --nnodes");
  CHECK(placed("5").error().ends_with(
      "; count nodes from 0, and add --rdzv-conf is_host=no beside a ddprun coordinator"));
  const auto alone = [](const std::string& rank) { return AskedOfNodes().with("node-rank", rank); };
  CHECK(alone("0").options().node_rank == NodeId{0});
  CHECK(alone("1").error() ==
        "--node-rank: '1' from the command line is beyond the 1 node of the job; write 0, or raise "
        "--nnodes");
}

TEST_CASE("rendezvous options: a job of one node has no use for spares") {
  CHECK(AskedOfNodes().with("spares", "1").error() ==
        "--spares: '1' from the command line is more than a job of one node can use; raise "
        "--nnodes, or write --nnodes=1:2 for a job that grows");
  CHECK(AskedOfNodes().with("spares", "0").options().gathering.spares == 0);
  CHECK(meeting_at("n0").with("nnodes", "1:2").with("spares", "1").options().gathering.spares == 1);
}

TEST_CASE("rendezvous options: a job has 20,000 nodes at most, spares included") {
  const auto many = [](const std::string& spares) {
    return meeting_at("n0").with("nnodes", "1:19999").with("spares", spares);
  };
  CHECK(many("1").options().gathering.nodes_all() == 20'000);
  CHECK(many("2").error() ==
        "--spares: '2' from the command line is no number of nodes; write 0 to 1");
}

TEST_CASE("rendezvous options: is_host takes the words that torchrun takes, and no others") {
  const auto told = [](const std::string& word) {
    return meeting_at("n0").with("rdzv-conf", "is_host=" + word);
  };
  for (const char* yes : {"1", "true", "True", "TRUE", "t", "T", "yes", "Yes", "y", "Y"}) {
    CAPTURE(yes);
    CHECK(told(yes).options().is_host == true);
  }
  for (const char* no : {"0", "false", "False", "f", "no", "NO", "n", "N"}) {
    CAPTURE(no);
    CHECK(told(no).options().is_host == false);
  }
  for (const char* other : {"on", "off", "2", "yess", "tru"}) {
    CAPTURE(other);
    const std::string conf = "is_host=" + std::string(other);
    CHECK(told(other).error() == "--rdzv-conf: '" + conf + "' from the command line has '" + conf +
                                     "', which is neither yes nor no; write is_host=1 or "
                                     "is_host=0");
  }
}

TEST_CASE("rendezvous options: a job's name is no folder that is there already") {
  for (const char* id : {".", ".."}) {
    CAPTURE(id);
    CHECK(AskedOfNodes().with("rdzv-id", id).error() ==
          "--rdzv-id: '" + std::string(id) +
              "' from the command line is no name for a job; write at most 255 characters without "
              "blanks and slashes, and not . or .. alone");
  }
  for (const char* id : {"...", ".a", "a..b"}) {
    CHECK(AskedOfNodes().with("rdzv-id", id).options().job_id == id);
  }
}

TEST_CASE("rendezvous options: torchrun's configuration may have quotes of its own around it") {
  for (const char* conf : {"'join_timeout=5,last_call_timeout=1'",
                           "\"join_timeout=5,last_call_timeout=1\"",
                           "join_timeout=5,last_call_timeout=1"}) {
    const RendezvousOptions options = meeting_at("n0").with("rdzv-conf", conf).options();
    CHECK(options.gathering.join_timeout == Millis{5'000});
    CHECK(options.gathering.last_call == Millis{1'000});
  }
  CHECK(meeting_at("n0").with("rdzv-conf", "'timeout=5").error().find("has ''timeout=5'") !=
        std::string::npos);
  CHECK(meeting_at("n0").with("rdzv-conf", "timeout").error() ==
        "--rdzv-conf: 'timeout' from the command line has 'timeout' without a value; write "
        "timeout=VALUE");
}

TEST_CASE("rendezvous options: blanks around torchrun's configuration and its words mean nothing") {
  const RendezvousOptions options =
      meeting_at("n0").with("rdzv-conf", " join_timeout = 5, last_call_timeout= 1 ").options();
  CHECK(options.gathering.join_timeout == Millis{5'000});
  CHECK(options.gathering.last_call == Millis{1'000});
  CHECK_FALSE(meeting_at("n0").with("rdzv-conf", " ").options().is_host);
  for (const char* conf : {"timeout= ", "timeout", "timeout="}) {
    CHECK(meeting_at("n0").with("rdzv-conf", conf).error().find("has 'timeout' without a value") !=
          std::string::npos);
  }
}

TEST_CASE("rendezvous options: other places where a node may ask for the job follow the first") {
  const RendezvousOptions options = meeting_at("n0:4711,n1,[fd00::1]:8,10.0.0.1").options();
  CHECK(options.endpoint == Endpoint{"n0", 4'711});
  CHECK(options.other_doors ==
        std::vector<Endpoint>{{"n1", 4'711}, {"fd00::1", 8}, {"10.0.0.1", 4'711}});
  CHECK(meeting_at("n0,n1").options().other_doors == std::vector<Endpoint>{{"n1", 29'400}});
  std::string many = "n0";
  for (std::size_t i = 1; i < doors_limit; ++i) many += ",n1";
  CHECK(meeting_at(many).options().other_doors.size() == doors_limit - 1);
  const std::string places = "names 65 hosts; name 64 at most";
  CHECK(meeting_at(many + ",n1").error().ends_with(places));
  const auto refusal_of = [](const std::string& list, const std::string& item, int place) {
    return fmt::format(
        "--rdzv-endpoint: '{}' from the command line has '{}' as entry {}, which is no address; "
        "write HOST:PORT, or [ADDRESS]:PORT for IPv6",
        list,
        item,
        place);
  };
  for (const auto& [list, item, place] : {std::tuple{"n0,,n2", "", 2},
                                          std::tuple{",n1", "", 1},
                                          std::tuple{"n0,n1,", "", 3},
                                          std::tuple{"n0,n1:x", "n1:x", 2},
                                          std::tuple{"n0, n1", " n1", 2}}) {
    CHECK(meeting_at(list).error() == refusal_of(list, item, place));
  }
  const AskedOfNodes master = AskedOfNodes().with("nnodes", "2").with("master-addr", "n0,n1");
  CHECK(
      master.error() ==
      "--master-addr: 'n0,n1' from the command line is no address; write a host alone, by name or "
      "address");
}

TEST_CASE("rendezvous options: torchrun's configuration is ours, where ours was not given") {
  AskedOfNodes asked = meeting_at("n0").with(
      "rdzv-conf", "join_timeout=60,last_call_timeout=5,is_host=1,close_timeout=9,read_timeout=8");
  CHECK(asked.options().gathering.join_timeout == Millis{60'000});
  CHECK(asked.options().gathering.last_call == Millis{5'000});
  CHECK(asked.options().is_host == true);
  asked.with("join-timeout", "7s");
  CHECK(asked.options().gathering.join_timeout == Millis{7'000});
  CHECK(meeting_at("n0").with("rdzv-conf", "is_host=0").options().is_host == false);
  CHECK(meeting_at("n0").with("rdzv-conf", "join_timout=60").error() ==
        "--rdzv-conf: 'join_timout=60' from the command line has 'join_timout=60'; did you mean "
        "'join_timeout=VALUE'?");
  CHECK(meeting_at("n0")
            .with("rdzv-conf", "join_timeout:5")
            .error()
            .ends_with("has 'join_timeout:5'; did you mean 'join_timeout=VALUE'?"));
  CHECK_FALSE(meeting_at("n0").with("rdzv-conf", "join_timeout").error().empty());
  CHECK(meeting_at("n0").with("rdzv-conf", "join_timeout=soon").error() ==
        "--join-timeout: 'soon' from join_timeout in --rdzv-conf of the command line is no time; "
        "write 250ms, 5s, 2m or 1h");
}

TEST_CASE("rendezvous options: keys of other backends are accepted, typing errors are not") {
  const RendezvousOptions options =
      meeting_at("n0").with("rdzv-conf", "a=1,protocol=https").options();
  CHECK(options.unused_conf == std::vector<std::string>{"a", "protocol"});
  CHECK(meeting_at("n0").with("rdzv-conf", "timeout=5").options().unused_conf.empty());
  CHECK(meeting_at("n0").with("rdzv-conf", "=5").error() ==
        "--rdzv-conf: '=5' from the command line has '=5'; write KEY=VALUE,...");
}

TEST_CASE("rendezvous options: ours") {
  const RendezvousOptions options = meeting_at("n0")
                                        .with("dead-after", "1.5s")
                                        .with("replace-timeout", "9s")
                                        .with("join-policy", "defer")
                                        .with("local-addr", "10.0.0.9")
                                        .with("interface", "eth1")
                                        .with("hostname-suffix", "i")
                                        .with("require-token", "true")
                                        .options();
  CHECK(options.times.dead_after == Millis{1'500});
  CHECK(options.gathering.replace_timeout == Millis{9'000});
  CHECK(options.join_policy == JoinPolicy::defer);
  CHECK(options.advertise == "10.0.0.9");
  CHECK(options.interface == "eth1");
  CHECK(options.hostname_suffix == "i");
  CHECK(options.requires_token);
  CHECK_FALSE(options.is_insecure);
  CHECK(meeting_at("n0").with("insecure", "true").options().is_insecure);
  CHECK(meeting_at("n0").with("store-allow", "10.1.0.0/16,fd00::1").options().store_allow ==
        std::vector<IpNetwork>{*parse_ip_network("10.1.0.0/16"), *parse_ip_network("fd00::1")});
  CHECK(meeting_at("n0").with("local-addr", "a").with("advertise", "b").options().advertise == "b");
}

TEST_CASE("rendezvous options: what makes no sense is refused, with what to write") {
  for (const char* nodes : {"", "x", "0", "3:2", "0:2", "2:", ":2", "1:2:3", "20001", "-1"}) {
    INFO(nodes);
    CHECK_FALSE(meeting_at("n0", nodes).error().empty());
  }
  CHECK(meeting_at("n0", "4:2").error() ==
        "--nnodes: '4:2' from the command line is out of range; write MIN:MAX with 1 <= MIN <= MAX "
        "<= 20000");
  CHECK(AskedOfNodes().with("nnodes", "2").error() ==
        "--nnodes: '2' from the command line needs an endpoint where the nodes meet; add "
        "--rdzv-endpoint HOST:PORT, the same on all nodes");
  CHECK(meeting_at("n0:x").error() ==
        "--rdzv-endpoint: 'n0:x' from the command line is no address; write HOST:PORT, or "
        "[ADDRESS]:PORT for IPv6");
  CHECK(
      meeting_at("n0").with("rdzv-backend", "etcd-v2").error() ==
      "--rdzv-backend: 'etcd-v2' from the command line needs a server, which ddprun does not use; "
      "leave it out; --rdzv-endpoint names the node that coordinates");
  CHECK_FALSE(meeting_at("n0").with("rdzv-backend", "zookeeper").error().empty());
  CHECK_FALSE(meeting_at("n0").with("node-rank", "one").error().empty());
  CHECK_FALSE(meeting_at("n0").with("rdzv-id", "a/b").error().empty());
  CHECK_FALSE(meeting_at("n0").with("rdzv-id", "a b").error().empty());
  CHECK_FALSE(meeting_at("n0").with("join-policy", "later").error().empty());
  CHECK(meeting_at("n0").with("store-dialect", "2.0").error() ==
        "--store-dialect: '2.0' from the command line is unknown; write auto or 2.1");
  CHECK(meeting_at("n0").with("store-allow", "10.1.0.0/16,n7").error() ==
        "--store-allow: '10.1.0.0/16,n7' from the command line has 'n7', which is no network; "
        "write addresses and networks such as 10.1.0.0/16,fd00::/8");
  CHECK_FALSE(meeting_at("n0").with("dead-after", "10ms").error().empty());
  CHECK_FALSE(meeting_at("n0").with("master-port", "x").with("rdzv-endpoint", "").error().empty());
  CHECK(meeting_at("n0").with("standalone", "true").error() ==
        "--standalone from the command line is for one node: --nnodes is 2:4 by the command line; "
        "keep one of them");
}

}  // namespace
}  // namespace ddprun
