#include "tests/sim/options.hpp"

#include "launcher/options/coordinator_options.hpp"
#include "launcher/options/option_table.hpp"
#include "launcher/options/read_setting.hpp"
#include "launcher/options/restart_options.hpp"
#include "launcher/options/stop_options.hpp"

#include <stdexcept>

namespace ddprun::sim {
namespace {

template <typename Value>
Value taken(Result<Value> read) {
  if (!read) throw std::invalid_argument(read.error().message());
  return *std::move(read);
}

Settings settings_of(const CommandLine& line) {
  Settings settings;
  for (const OptionSpec& option : option_table()) {
    settings[std::string(option.name)] = {std::string(option.fallback), "default"};
  }
  for (const auto& [name, value] : line) {
    if (find_option(name) == nullptr) throw std::invalid_argument("no option: " + name);
    settings[name] = {value, "the command line"};
  }
  return settings;
}

}  // namespace

JobOptions read_options(const CommandLine& line, bool anchored) {
  const Settings all = settings_of(line);
  Options options;
  options.restarts = taken(read_restart_options(all));
  options.stop = taken(read_stop_options(all));
  options.restart_grace = taken(read_duration("restart-grace", all.at("restart-grace")));
  options.rendezvous = taken(read_rendezvous_options(all));
  options.anchored = anchored;
  return {options, elected_coordinator_options(options)};
}

const JobOptions& shipped() {
  static const JobOptions usual = read_options({});
  return usual;
}

}  // namespace ddprun::sim
