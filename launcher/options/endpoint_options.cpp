#include "launcher/options/endpoint_options.hpp"

#include "launcher/options/read_setting.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

// torchrun's defaults.
constexpr std::uint16_t rendezvous_port = 29'400;
constexpr std::uint16_t master_port = 29'500;

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

/// --master-addr and --master-port, with these defaults. Nothing if neither was given.
Result<std::optional<Endpoint>> read_master(const Settings& all,
                                            const std::string& host_unless_given,
                                            std::uint16_t port_unless_given) {
  const Setting& host = all.at("master-addr");
  const Setting& port = all.at("master-port");
  std::uint16_t number = port_unless_given;
  if (is_given(port)) {
    const auto read = read_count("master-port", port, "port", 0, 65'535);
    if (!read) return read.error();
    number = static_cast<std::uint16_t>(*read);
  }
  if (!is_given(host) && !is_given(port)) return std::optional<Endpoint>();
  const auto endpoint = parse_endpoint(is_given(host) ? host.value : host_unless_given, number);
  if (!endpoint) {
    return refused_setting(
        "master-addr", host, "is no address", "write a host alone, by name or address");
  }
  if (is_given(port) && endpoint->port != number) {
    return refused_setting(
        "master-addr",
        host,
        fmt::format("contradicts --master-port, which is {} by {}", port.value, port.origin),
        "write the host alone");
  }
  return std::optional<Endpoint>(endpoint);
}

/// The store of one node alone, and what to call its host and its port in errors.
void set_store(const Settings& all,
               const std::optional<Endpoint>& master,
               RendezvousOptions& options) {
  options.store = master;
  const Setting& host = all.at("master-addr");
  const Setting& port = all.at("master-port");
  if (is_given(host)) options.store_host_from = name_of_setting("master-addr", host);
  options.store_port_from =
      is_given(port) ? name_of_setting("master-port", port) : options.store_host_from;
}

/// Other nodes must know the port, unless there need not be any.
Result<void> check_port(const Settings& all, const RendezvousOptions& options) {
  const bool is_any = options.endpoint && options.endpoint->port == 0;
  if (!is_any || options.gathering.nodes_min == 1) return {};
  const char* const name = is_given(all.at("rdzv-endpoint")) ? "rdzv-endpoint" : "master-port";
  return refused_setting(name,
                         all.at(name),
                         "leaves the port open, so that other nodes cannot find it",
                         fmt::format("write a port such as {}", rendezvous_port));
}

}  // namespace

Result<void> read_endpoints(const Settings& all, RendezvousOptions& options) {
  const auto master = read_master(all, "127.0.0.1", options.has_many_nodes() ? master_port : 0);
  if (!master) return master.error();
  if (is_given(all.at("rdzv-endpoint"))) {
    auto doors = read_doors(all.at("rdzv-endpoint"));
    if (!doors) return doors.error();
    options.endpoint = doors->front();
    options.other_doors.assign(doors->begin() + 1, doors->end());
  } else if (is_given(all.at("master-addr"))) {
    options.endpoint = *master;
  }
  if (!options.has_many_nodes()) set_store(all, *master, options);
  return check_port(all, options);
}

}  // namespace ddprun
