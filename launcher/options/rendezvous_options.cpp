#include "launcher/options/rendezvous_options.hpp"

#include "launcher/options/endpoint_options.hpp"
#include "launcher/options/read_setting.hpp"
#include "launcher/options/store_options.hpp"
#include "launcher/text/nearest.hpp"
#include "launcher/text/text_of_count.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

Result<void> read_nodes(const Settings& all, GatheringOptions& gathering) {
  const Setting& setting = all.at("nnodes");
  const auto bounds = parse_bounds(setting.value);
  if (!bounds) {
    return refused_setting("nnodes", setting, "is no number of nodes", "write N or MIN:MAX");
  }
  if (bounds->low < 1 || bounds->low > bounds->high || bounds->high > nodes_limit) {
    return refused_setting("nnodes",
                           setting,
                           "is out of range",
                           fmt::format("write MIN:MAX with 1 <= MIN <= MAX <= {}", nodes_limit));
  }
  gathering.nodes_min = static_cast<int>(bounds->low);
  gathering.nodes_max = static_cast<int>(bounds->high);
  return {};
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
  if (setting.value == "now") return JoinPolicy::now;
  if (setting.value == "snapshot") return JoinPolicy::snapshot;
  if (setting.value == "defer") return JoinPolicy::defer;
  return refused_setting(
      "join-policy",
      setting,
      "is unknown",
      did_you_mean(setting.value, {"now", "snapshot", "defer"}, "write now, snapshot or defer"));
}

/// A shell leaves quotes inside a word: --rdzv-conf='a=1,b=2' written in a Python list.
Setting without_quotes(Setting setting) {
  std::string& text = setting.value;
  const bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
                      text.front() == text.back();
  if (quoted) text = text.substr(1, text.size() - 2);
  return setting;
}

/// By the words that torchrun knows.
Result<bool> read_is_host(const Setting& conf, const Setting& value) {
  constexpr std::array yes{"1", "true", "t", "yes", "y"};
  constexpr std::array no{"0", "false", "f", "no", "n"};
  std::string word = value.value;
  const auto lower = [](unsigned char c) { return static_cast<char>(std::tolower(c)); };
  std::ranges::transform(word, word.begin(), lower);
  if (std::ranges::find(yes, word) != yes.end()) return true;
  if (std::ranges::find(no, word) != no.end()) return false;
  return refused_setting("rdzv-conf",
                         conf,
                         fmt::format("has 'is_host={}', which is neither yes nor no", value.value),
                         "write is_host=1 or is_host=0");
}

/// torchrun's times are used if ddprun's were not given. It hands all keys to its backend: those
/// that are no typing errors are accepted, too, and change nothing.
Result<void> apply_conf(const Settings& all, Settings& effective, RendezvousOptions& options) {
  const Setting conf = without_quotes(all.at("rdzv-conf"));
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
  for (const std::string_view part : parts_of(trimmed(conf.value))) {
    const std::string_view pair = trimmed(part);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string key(trimmed(pair.substr(0, equals)));
    const std::string text(trimmed(pair.substr(std::min(equals + 1, pair.size()))));
    const bool has_value = !text.empty();
    const bool is_known = std::ranges::find(known, key) != known.end();
    if (is_known && !has_value) {
      return refused_setting("rdzv-conf",
                             conf,
                             fmt::format("has '{}' without a value", key),
                             fmt::format("write {}=VALUE", key));
    }
    if (!is_known) {
      const std::string guess = nearest(key, known);
      if (guess.empty() && !key.empty()) {
        options.unused_conf.push_back(key);
        continue;
      }
      return refused_setting(
          "rdzv-conf",
          conf,
          fmt::format("has '{}'", pair),
          guess.empty() ? "write KEY=VALUE,..." : fmt::format("did you mean '{}=VALUE'?", guess));
    }
    const Setting value{text, fmt::format("{} in --rdzv-conf of {}", key, conf.origin)};
    if (key == "join_timeout" && !is_given(all.at("join-timeout"))) {
      effective["join-timeout"] = value;
    } else if (key == "last_call_timeout" && !is_given(all.at("last-call"))) {
      effective["last-call"] = value;
    } else if (key == "is_host") {
      const auto is_host = read_is_host(conf, value);
      if (!is_host) return is_host.error();
      options.is_host = *is_host;
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

/// A job of one node has no use for spares.
Result<void> read_node_rank(const Setting& rank, RendezvousOptions& options) {
  if (!is_given(rank)) return {};
  const auto number = read_count("node-rank", rank, "place among the nodes", 0, nodes_limit - 1);
  if (!number) return number.error();
  const int count = options.has_many_nodes() ? options.gathering.nodes_all() : 1;
  if (*number < count) {
    options.node_rank = NodeId{*number};
    return {};
  }
  const std::string why = fmt::format("is beyond the {} of the job", text_of_count(count, "node"));
  if (*number == count && options.has_many_nodes()) {
    return refused_setting(
        "node-rank",
        rank,
        why,
        "count nodes from 0, and add --rdzv-conf is_host=no beside a ddprun coordinator");
  }
  const std::string places = count == 1 ? "0" : fmt::format("0 to {}", count - 1);
  return refused_setting(
      "node-rank", rank, why, fmt::format("write {}, or raise --nnodes", places));
}

/// An error for a contradiction or a missing option.
Result<void> check(const Settings& all, const RendezvousOptions& options) {
  if (!options.has_many_nodes() && options.gathering.spares > 0) {
    return refused_setting("spares",
                           all.at("spares"),
                           "is more than a job of one node can use",
                           "raise --nnodes, or write --nnodes=1:2 for a job that grows");
  }
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

Result<std::string> read_job_id(const Setting& setting) {
  constexpr std::size_t bytes_max = 255;
  const auto odd = [](unsigned char c) { return c <= ' ' || c == '/' || c == 0x7f; };
  const bool is_folder = setting.value == "." || setting.value == "..";  // log files are in one
  if (setting.value.size() > bytes_max || std::ranges::any_of(setting.value, odd) || is_folder) {
    return refused_setting("rdzv-id",
                           setting,
                           "is no name for a job",
                           "write at most 255 characters without blanks and slashes, and not . or "
                           ".. alone");
  }
  return setting.value;
}

Result<RendezvousOptions> read_rendezvous_options(const Settings& all) {
  RendezvousOptions options;
  Settings effective = all;
  if (auto read = read_nodes(all, options.gathering); !read) return read.error();
  if (auto right = check_backend(all); !right) return right.error();
  if (auto applied = apply_conf(all, effective, options); !applied) return applied.error();
  if (auto read = read_times(effective, options); !read) return read.error();
  if (auto read = read_endpoints(all, options); !read) return read.error();
  const auto policy = read_join_policy(all.at("join-policy"));
  if (!policy) return policy.error();
  options.join_policy = *policy;
  const int spares_max = nodes_limit - options.gathering.nodes_max;
  const auto spares = read_count("spares", all.at("spares"), "number of nodes", 0, spares_max);
  if (!spares) return spares.error();
  options.gathering.spares = *spares;
  auto job_id = read_job_id(all.at("rdzv-id"));
  if (!job_id) return job_id.error();
  options.job_id = *std::move(job_id);
  if (auto read = read_node_rank(all.at("node-rank"), options); !read) return read.error();
  const auto risks_two_jobs = read_flag("risk-two-jobs", all.at("risk-two-jobs"));
  if (!risks_two_jobs) return risks_two_jobs.error();
  options.gathering.heeds_marks = !*risks_two_jobs;
  options.state_dir = all.at("state-dir").value;
  const auto requires_token = read_flag("require-token", all.at("require-token"));
  if (!requires_token) return requires_token.error();
  options.requires_token = *requires_token;
  const auto is_insecure = read_flag("insecure", all.at("insecure"));
  if (!is_insecure) return is_insecure.error();
  options.is_insecure = *is_insecure;
  options.advertise = all.at(is_given(all.at("advertise")) ? "advertise" : "local-addr").value;
  options.interface = all.at("interface").value;
  options.hostname_suffix = all.at("hostname-suffix").value;
  auto networks = read_networks("store-allow", all.at("store-allow"));
  if (!networks) return networks.error();
  options.store_allow = *std::move(networks);
  const auto memory = read_size("store-memory", all.at("store-memory"), store_memory_min);
  if (!memory) return memory.error();
  options.store_memory = *memory;
  const auto dialect = read_store_dialect(all.at("store-dialect"));
  if (!dialect) return dialect.error();
  options.store_dialect = *dialect;
  if (auto right = check(all, options); !right) return right.error();
  return options;
}

}  // namespace ddprun
