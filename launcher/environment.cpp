#include "launcher/environment.hpp"

#include "launcher/nearest.hpp"
#include "launcher/option_table.hpp"
#include "launcher/values.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

constexpr std::array<std::string_view, 4> worker_variables{
    "DDPRUN_GENERATION", "DDPRUN_JOB_ID", "DDPRUN_NODE", "DDPRUN_DEVICE"};

/// torchrun takes 1 and 0 for a flag; people also write words.
std::string as_flag(const std::string& value) {
  if (value == "1") return "true";
  if (value == "0" || value.empty()) return "false";
  return value;
}

Error unknown_variable(const std::string& name) {
  std::vector<std::string> names;
  for (const OptionSpec& option : option_table()) {
    if (!option.command_only) names.push_back(variable_name("DDPRUN_", option.name));
  }
  return {ExitStatus::usage,
          fmt::format("unknown variable {} in the environment", name),
          "",
          did_you_mean(name, names, "unset it; names that begin with DDPRUN_ are ddprun's")};
}

}  // namespace

Environment current_environment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::optional<std::string> find_variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> count_in(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : parse_count(found->second);
}

bool is_worker_variable(const std::string& name) {
  return std::ranges::find(worker_variables, name) != worker_variables.end();
}

bool is_secret_variable(const std::string& name) {
  return name == "DDPRUN_TOKEN" || name == "DDPRUN_TOKEN_FILE";
}

Result<Settings> settings_in(const Environment& environment) {
  Settings settings;
  Environment unclaimed = environment;
  for (const OptionSpec& option : option_table()) {
    if (option.command_only) continue;
    for (const std::string_view prefix : {"PET_", "DDPRUN_"}) {
      if (prefix == "PET_" && !option.torchrun) continue;
      const std::string name = variable_name(prefix, option.name);
      const auto found = unclaimed.extract(name);
      if (found.empty()) continue;
      const std::string value = option.is_flag() ? as_flag(found.mapped()) : found.mapped();
      settings[std::string(option.name)] = Setting{value, name};
    }
  }
  for (const auto& [name, value] : unclaimed) {
    const bool known = is_worker_variable(name) || is_secret_variable(name);
    if (name.starts_with("DDPRUN_") && !known) return unknown_variable(name);
  }
  return settings;
}

}  // namespace ddprun
