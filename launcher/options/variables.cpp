#include "launcher/options/variables.hpp"

#include "launcher/options/option_table.hpp"
#include "launcher/text/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace ddprun {
namespace {

constexpr std::array<std::string_view, 16> identity_variables{"RANK",
                                                              "LOCAL_RANK",
                                                              "WORLD_SIZE",
                                                              "LOCAL_WORLD_SIZE",
                                                              "GROUP_RANK",
                                                              "GROUP_WORLD_SIZE",
                                                              "ROLE_NAME",
                                                              "ROLE_RANK",
                                                              "ROLE_WORLD_SIZE",
                                                              "MASTER_ADDR",
                                                              "MASTER_PORT",
                                                              "TORCHELASTIC_RESTART_COUNT",
                                                              "TORCHELASTIC_MAX_RESTARTS",
                                                              "TORCHELASTIC_RUN_ID",
                                                              "TORCHELASTIC_USE_AGENT_STORE",
                                                              "TORCHELASTIC_ERROR_FILE"};

constexpr std::array<std::string_view, 5> worker_variables{
    "DDPRUN_GENERATION", "DDPRUN_JOB_ID", "DDPRUN_NODE", "DDPRUN_DEVICE", "DDPRUN_CONTROL_FD"};

/// torchrun accepts 1 and 0 for a flag; users also write words.
std::string as_flag(const std::string& value) {
  if (value == "1") return "true";
  if (value == "0" || value.empty()) return "false";
  return value;
}

/// The last one that is set holds.
std::vector<std::string> variables_of(const OptionSpec& option) {
  std::vector<std::string> names;
  if (!option.also_reads.empty()) names.emplace_back(option.also_reads);
  if (option.torchrun && !option.has_no_pet) names.push_back(variable_name("PET_", option.name));
  names.push_back(variable_name("DDPRUN_", option.name));
  return names;
}

/// What all such names begin with is no reason for a guess.
Error unknown_variable(const std::string& name) {
  constexpr std::string_view prefix = "DDPRUN_";
  std::vector<std::string> names;
  for (const OptionSpec& option : option_table()) {
    if (!option.command_only) names.push_back(variable_name("DDPRUN_", option.name));
  }
  const std::string guess = nearest(name, names, (name.size() - prefix.size()) / 3);
  return {ExitStatus::usage,
          fmt::format("unknown variable {} in the environment", name),
          "",
          guess.empty() ? "unset it; names that begin with DDPRUN_ are ddprun's"
                        : fmt::format("did you mean '{}'?", guess)};
}

}  // namespace

Result<Settings> settings_in(const Environment& environment) {
  Settings settings;
  Environment unclaimed = environment;
  for (const OptionSpec& option : option_table()) {
    if (option.command_only) continue;
    for (const std::string& name : variables_of(option)) {
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

bool is_worker_variable(const std::string& name) {
  return std::ranges::find(worker_variables, name) != worker_variables.end();
}

bool is_secret_variable(const std::string& name) {
  return name == "DDPRUN_TOKEN" || name == "DDPRUN_TOKEN_FILE";
}

bool is_set_by_ddprun(std::string_view name) {
  return name.starts_with("DDPRUN_") ||
         std::ranges::find(identity_variables, name) != identity_variables.end();
}

std::string replaced_variables_note(const Environment& environment) {
  std::vector<std::string> names;
  for (const auto& [name, value] : environment) {
    if (std::ranges::find(identity_variables, name) != identity_variables.end()) {
      names.push_back(fmt::format("{}={}", name, value));
    }
  }
  if (names.empty()) return {};
  return fmt::format("{} from the environment: ignored, each worker gets its own",
                     fmt::join(names, ", "));
}

}  // namespace ddprun
