// Parses a setting's text: its value, or an error that names the option, the text and its origin.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/ip_network.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/units.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// `--grace: 'soon' from DDPRUN_GRACE`, how errors name a setting.
[[nodiscard]] std::string name_of_setting(std::string_view name, const Setting& setting);

/// `--grace: 'soon' from DDPRUN_GRACE <why>; <fix>`.
[[nodiscard]] Error refused_setting(std::string_view name,
                                    const Setting& setting,
                                    std::string why,
                                    std::string fix);

/// From `low` to `high`; `what` is "number of restarts".
[[nodiscard]] Result<int> read_count(
    std::string_view name, const Setting& setting, std::string_view what, int low, int high);

[[nodiscard]] Result<Millis> read_duration(std::string_view name, const Setting& setting);

/// Nothing for "off".
[[nodiscard]] Result<std::optional<Millis>> read_duration_or_off(std::string_view name,
                                                                 const Setting& setting);

/// What a store needs: more than any request has.
constexpr std::size_t store_memory_min = std::size_t{160} << 20;

/// Of memory, in bytes: from `low` on.
[[nodiscard]] Result<std::size_t> read_size(std::string_view name,
                                            const Setting& setting,
                                            std::size_t low);

[[nodiscard]] Result<bool> read_flag(std::string_view name, const Setting& setting);

/// "10.1.0.0/16,fd00::/8": networks, and addresses as networks of one.
[[nodiscard]] Result<std::vector<IpNetwork>> read_networks(std::string_view name,
                                                           const Setting& setting);

}  // namespace ddprun
