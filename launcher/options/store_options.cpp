#include "launcher/options/store_options.hpp"

#include "launcher/options/read_setting.hpp"
#include "launcher/text/nearest.hpp"
#include "launcher/text/settings.hpp"
#include "rendezvous/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace ddprun {
namespace {

struct StoreOptionSpec {
  std::string_view name;
  std::string_view value_name;
  std::string_view fallback = {};
  std::string_view help;
};
constexpr std::array store_option_table{
    StoreOptionSpec{.name = "bind",
                    .value_name = "ADDRESS",
                    .help = "Listen at this address or network interface; else at 127.0.0.1, or "
                            "with --allow at all."},
    StoreOptionSpec{.name = "port",
                    .value_name = "PORT",
                    .fallback = "0",
                    .help = "Listen at this port; 0: at any that is free."},
    StoreOptionSpec{.name = "port-file",
                    .value_name = "FILE",
                    .help = "Write the port into FILE once the store listens."},
    StoreOptionSpec{.name = "allow",
                    .value_name = "NETWORKS",
                    .help = "Admit these addresses and networks, such as 10.1.0.0/16,fd00::/8, "
                            "and not only processes of this user on this machine."},
    StoreOptionSpec{.name = "max-memory",
                    .value_name = "SIZE",
                    .fallback = "1GiB",
                    .help = "Memory for keys, values, requests, replies and connections "
                            "together; 160 MiB or more."},
    StoreOptionSpec{.name = "store-dialect",
                    .value_name = "NAME",
                    .fallback = "auto",
                    .help = "'2.1': clients without a greeting are of PyTorch 2.1. 'auto': of 2.0 "
                            "or earlier, until they show that they are of 2.1."},
};

Error refuse_word(std::string what, std::string fix) {
  return {ExitStatus::usage, "ddprun store: " + std::move(what), "", std::move(fix)};
}

/// "--port_file=x" is port-file. Empty for a word that is no option of the store.
std::string option_name_in(const std::string& word) {
  if (!word.starts_with("--")) return {};
  std::string name = word.substr(2, word.find('=') - 2);
  std::ranges::replace(name, '_', '-');
  return std::ranges::count(store_option_table, name, &StoreOptionSpec::name) == 1 ? name : "";
}

Error unknown_word(const std::string& word) {
  std::vector<std::string> known;
  for (const StoreOptionSpec& option : store_option_table) {
    known.push_back("--" + std::string(option.name));
  }
  return refuse_word(
      fmt::format("unknown word '{}'", printable(word)),
      did_you_mean(word.substr(0, word.find('=')), known, "ddprun store --help lists all options"));
}

Result<Settings> store_settings(const std::vector<std::string>& words) {
  Settings settings;
  for (const StoreOptionSpec& option : store_option_table) {
    settings[std::string(option.name)] = {std::string(option.fallback), "default"};
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = option_name_in(words[i]);
    if (name.empty()) return unknown_word(words[i]);
    const std::size_t equals = words[i].find('=');
    if (equals == std::string::npos && ++i == words.size()) {
      return refuse_word(fmt::format("--{} has no value", name), "write one after it");
    }
    const bool is_joined = equals != std::string::npos;
    settings[name] = {is_joined ? words[i].substr(equals + 1) : words[i], "the command line"};
  }
  return settings;
}

/// An empty value would be as if the option were not there.
Result<void> refuse_empty_values(const Settings& settings) {
  for (const StoreOptionSpec& option : store_option_table) {
    const Setting& setting = settings.at(std::string(option.name));
    if (setting.origin == "default" || !setting.value.empty() || !option.fallback.empty()) continue;
    return refused_setting(option.name, setting, "is empty", "write a value, or omit the option");
  }
  return {};
}

}  // namespace

Result<StoreDialect> read_store_dialect(const Setting& setting) {
  if (setting.value == "auto") return StoreDialect::legacy;
  if (setting.value == "2.1") return StoreDialect::torch_2_1;
  return refused_setting("store-dialect", setting, "is unknown", "write auto or 2.1");
}

Result<StoreCommandOptions> read_store_options(const std::vector<std::string>& words) {
  StoreCommandOptions options;
  options.wants_help = std::ranges::count(words, "--help") + std::ranges::count(words, "-h") > 0;
  if (options.wants_help) return options;
  const auto settings = store_settings(words);
  if (!settings) return settings.error();
  if (const auto refused = refuse_empty_values(*settings); !refused) return refused.error();
  options.bind = settings->at("bind").value;
  options.port_file = settings->at("port-file").value;
  constexpr int port_max = std::numeric_limits<std::uint16_t>::max();
  const auto port = read_count("port", settings->at("port"), "port", 0, port_max);
  if (!port) return port.error();
  options.port = static_cast<std::uint16_t>(*port);
  const auto memory = read_size("max-memory", settings->at("max-memory"), store_memory_min);
  if (!memory) return memory.error();
  options.memory_max = *memory;
  const auto ungreeted = read_store_dialect(settings->at("store-dialect"));
  if (!ungreeted) return ungreeted.error();
  options.ungreeted = *ungreeted;
  const Setting& allow = settings->at("allow");
  if (!is_given(allow)) return options;
  auto networks = read_networks("allow", allow);
  if (!networks) return networks.error();
  options.allow = *std::move(networks);
  return options;
}

std::string store_usage() {
  std::string text =
      "Usage: ddprun store [options]\n"
      "Serve PyTorch's TCPStore to jobs of any launcher; see ddprun-store(7)\n\n";
  for (const StoreOptionSpec& option : store_option_table) {
    text += fmt::format("  --{} {}\n      {}\n", option.name, option.value_name, option.help);
  }
  return text;
}

}  // namespace ddprun
