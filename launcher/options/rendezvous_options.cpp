#include "launcher/options/rendezvous_options.hpp"

#include "launcher/options/read_setting.hpp"
#include "launcher/text/nearest.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

// torchrun's defaults.
constexpr std::uint16_t rendezvous_port = 29'400;
constexpr std::uint16_t master_port = 29'500;

Result<void> read_nodes(const Settings& all, GatheringOptions& gathering) {
  const Setting& setting = all.at("nnodes");
  const std::size_t colon = setting.value.find(':');
  const auto low = parse_count(setting.value.substr(0, colon));
  const auto high = colon == std::string::npos ? low : parse_count(setting.value.substr(colon + 1));
  if (!low || !high) {
    return refused_setting("nnodes", setting, "is no number of nodes", "write N or MIN:MAX");
  }
  if (*low < 1 || *low > *high || *high > nodes_limit) {
    return refused_setting("nnodes",
                           setting,
                           "is out of range",
                           fmt::format("write MIN:MAX with 1 <= MIN <= MAX <= {}", nodes_limit));
  }
  gathering.nodes_min = static_cast<int>(*low);
  gathering.nodes_max = static_cast<int>(*high);
  return {};
}

constexpr const char* how_to_write = "write HOST:PORT, or [ADDRESS]:PORT for IPv6";

/// One or more; those without a port have the first one's.
Result<std::vector<Endpoint>> read_doors(const Setting& setting) {
  const auto count = static_cast<std::size_t>(std::ranges::count(setting.value, ',')) + 1;
  if (count > doors_limit) {
    return refused_setting("rdzv-endpoint",
                           setting,
                           fmt::format("names {} hosts", count),
                           fmt::format("name {} at most", doors_limit));
  }
  std::vector<Endpoint> doors;
  std::string_view rest = setting.value;
  while (doors.size() < count) {
    const std::string_view text = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    auto door = parse_endpoint(text, doors.empty() ? rendezvous_port : doors.front().port);
    if (!door && count == 1) {
      return refused_setting("rdzv-endpoint", setting, "is no address", how_to_write);
    }
    if (!door) {
      return refused_setting(
          "rdzv-endpoint",
          setting,
          fmt::format("has '{}' as entry {}, which is no address", text, doors.size() + 1),
          how_to_write);
    }
    doors.push_back(*std::move(door));
  }
  return doors;
}

/// None where none was given.
Result<std::vector<Endpoint>> read_endpoints(const Settings& all) {
  if (is_given(all.at("rdzv-endpoint"))) return read_doors(all.at("rdzv-endpoint"));
  const Setting& host = all.at("master-addr");
  const Setting& port = all.at("master-port");
  const auto number = read_count("master-port", port, "port", 1, 65'535);
  if (!port.value.empty() && !number) return number.error();
  if (!is_given(host)) return std::vector<Endpoint>();
  const auto endpoint = parse_endpoint(
      host.value, port.value.empty() ? master_port : static_cast<std::uint16_t>(*number));
  if (!endpoint) return refused_setting("master-addr", host, "is no address", how_to_write);
  return std::vector<Endpoint>{*endpoint};
}

Result<void> check_backend(const Settings& all) {
  constexpr std::array backends{"c10d", "static"};
  const Setting& setting = all.at("rdzv-backend");
  if (std::ranges::find(backends, setting.value) != backends.end()) return {};
  if (setting.value.starts_with("etcd")) {
    return refused_setting("rdzv-backend",
                           setting,
                           "needs a server, which ddprun does not use",
                           "leave it out; --rdzv-endpoint names the node that coordinates");
  }
  return refused_setting("rdzv-backend", setting, "is unknown", "write c10d or static");
}

Result<JoinPolicy> read_join_policy(const Setting& setting) {
  // Workers that cannot be asked for a snapshot are stopped, as with "now".
  if (setting.value == "now" || setting.value == "snapshot") return JoinPolicy::now;
  if (setting.value == "defer") return JoinPolicy::defer;
  return refused_setting(
      "join-policy",
      setting,
      "is unknown",
      did_you_mean(setting.value, {"now", "snapshot", "defer"}, "write now, snapshot or defer"));
}

Result<std::string> read_job_id(const Setting& setting) {
  constexpr std::size_t bytes_max = 255;
  const auto odd = [](unsigned char c) { return c <= ' ' || c == '/' || c == 0x7f; };
  if (setting.value.size() > bytes_max || std::ranges::any_of(setting.value, odd)) {
    return refused_setting("rdzv-id",
                           setting,
                           "is no name for a job",
                           "write at most 255 characters without blanks and slashes");
  }
  return setting.value;
}

Result<std::vector<IpNetwork>> read_networks(const std::string& name, const Setting& setting) {
  std::vector<IpNetwork> networks;
  for (const std::string_view text : parts_of(setting.value)) {
    const auto network = parse_ip_network(std::string(text));
    if (!network) {
      return refused_setting(name,
                             setting,
                             fmt::format("has '{}', which is no network", text),
                             "write addresses and networks such as 10.1.0.0/16,fd00::/8");
    }
    networks.push_back(*network);
  }
  return networks;
}

/// torchrun's times are used if ddprun's were not given; keys that ddprun does not need are
/// accepted and ignored.
Result<void> apply_conf(const Settings& all, Settings& effective, RendezvousOptions& options) {
  const Setting& conf = all.at("rdzv-conf");
  const std::vector<std::string> known{"join_timeout",
                                       "last_call_timeout",
                                       "close_timeout",
                                       "heartbeat_timeout",
                                       "keep_alive_interval",
                                       "keep_alive_max_attempt",
                                       "read_timeout",
                                       "timeout",
                                       "store_type",
                                       "rank",
                                       "is_host"};
  for (const std::string_view pair : parts_of(conf.value)) {
    const std::string key(pair.substr(0, pair.find('=')));
    const bool has_value = key.size() < pair.size();
    if (!has_value || std::ranges::find(known, key) == known.end()) {
      return refused_setting("rdzv-conf",
                             conf,
                             fmt::format("has '{}'", pair),
                             did_you_mean(key, known, "write KEY=VALUE,KEY=VALUE"));
    }
    const Setting value{std::string(pair.substr(key.size() + 1)), conf.origin};
    if (key == "join_timeout" && !is_given(all.at("join-timeout"))) {
      effective["join-timeout"] = value;
    } else if (key == "last_call_timeout" && !is_given(all.at("last-call"))) {
      effective["last-call"] = value;
    } else if (key == "is_host") {
      const bool yes = value.value == "1" || value.value == "true" || value.value == "True";
      options.is_host = yes;
    }
  }
  return {};
}

Result<void> read_times(const Settings& all, RendezvousOptions& options) {
  Millis dead_after;
  for (const auto& [name, target] :
       {std::pair{"join-timeout", &options.gathering.join_timeout},
        std::pair{"last-call", &options.gathering.last_call},
        std::pair{"replace-timeout", &options.gathering.replace_timeout},
        std::pair{"dead-after", &dead_after}}) {
    const auto time = read_duration(name, all.at(name));
    if (!time) return time.error();
    *target = *time;
  }
  options.times = LeaseTimes{dead_after};
  constexpr Millis dead_after_min{400};  // a heartbeat each 25 ms
  if (dead_after < dead_after_min) {
    return refused_setting(
        "dead-after", all.at("dead-after"), "is too short", "write 400ms or more");
  }
  return {};
}

/// An error for a contradiction or a missing option.
Result<void> check(const Settings& all, const RendezvousOptions& options) {
  if (!options.has_many_nodes()) return {};
  if (all.at("standalone").value == "true") {
    return Error(
        ExitStatus::usage,
        fmt::format("--standalone from {} is for one node", all.at("standalone").origin),
        fmt::format("--nnodes is {} by {}", all.at("nnodes").value, all.at("nnodes").origin),
        "keep one of them");
  }
  if (!options.endpoint) {
    return refused_setting("nnodes",
                           all.at("nnodes"),
                           "needs an endpoint where the nodes meet",
                           "add --rdzv-endpoint HOST:PORT, the same on all nodes");
  }
  return {};
}

}  // namespace

Result<RendezvousOptions> read_rendezvous_options(const Settings& all) {
  RendezvousOptions options;
  Settings effective = all;
  if (auto read = read_nodes(all, options.gathering); !read) return read.error();
  if (auto right = check_backend(all); !right) return right.error();
  if (auto applied = apply_conf(all, effective, options); !applied) return applied.error();
  if (auto read = read_times(effective, options); !read) return read.error();
  auto endpoints = read_endpoints(all);
  if (!endpoints) return endpoints.error();
  if (!endpoints->empty()) {
    options.endpoint = endpoints->front();
    options.other_doors.assign(endpoints->begin() + 1, endpoints->end());
  }
  const auto policy = read_join_policy(all.at("join-policy"));
  if (!policy) return policy.error();
  options.join_policy = *policy;
  auto job_id = read_job_id(all.at("rdzv-id"));
  if (!job_id) return job_id.error();
  options.job_id = *std::move(job_id);
  if (const Setting& rank = all.at("node-rank"); is_given(rank)) {
    const auto number = read_count("node-rank", rank, "place among the nodes", 0, nodes_limit - 1);
    if (!number) return number.error();
    options.node_rank = NodeId{*number};
  }
  const auto spares = read_count("spares", all.at("spares"), "number of nodes", 0, nodes_limit);
  if (!spares) return spares.error();
  options.gathering.nodes_all = options.gathering.nodes_max + *spares;
  const auto risks_two_jobs = read_flag("risk-two-jobs", all.at("risk-two-jobs"));
  if (!risks_two_jobs) return risks_two_jobs.error();
  options.gathering.heeds_marks = !*risks_two_jobs;
  options.state_dir = all.at("state-dir").value;
  const auto requires_token = read_flag("require-token", all.at("require-token"));
  if (!requires_token) return requires_token.error();
  options.requires_token = *requires_token;
  options.advertise = all.at(is_given(all.at("advertise")) ? "advertise" : "local-addr").value;
  options.interface = all.at("interface").value;
  options.hostname_suffix = all.at("hostname-suffix").value;
  auto networks = read_networks("store-allow", all.at("store-allow"));
  if (!networks) return networks.error();
  options.store_allow = *std::move(networks);
  if (auto right = check(all, options); !right) return right.error();
  return options;
}

}  // namespace ddprun
