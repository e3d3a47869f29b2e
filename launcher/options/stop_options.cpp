#include "launcher/options/stop_options.hpp"

#include "launcher/options/read_setting.hpp"
#include "launcher/text/nearest.hpp"
#include "launcher/text/values.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <string_view>

namespace ddprun {
namespace {

constexpr const char* on_signal = "on-signal";

struct Deed {
  std::string_view signal;
  int number;
  std::string_view usual;  // the default action
};
constexpr std::array deeds{Deed{"TERM", SIGTERM, "stop"},
                           Deed{"HUP", SIGHUP, "stop"},
                           Deed{"USR1", SIGUSR1, "pass"},
                           Deed{"USR2", SIGUSR2, "pass"}};

/// Of one "USR1=snapshot-exit".
Result<void> read_deed(const Setting& setting, std::string_view word, std::set<int>& saving) {
  const std::size_t equals = word.find('=');
  std::string_view name = word.substr(0, equals);
  if (name.starts_with("SIG")) name.remove_prefix(3);
  const auto deed =
      std::ranges::find_if(deeds, [&](const Deed& each) { return each.signal == name; });
  if (equals == std::string_view::npos || deed == deeds.end()) {
    return refused_setting(on_signal,
                           setting,
                           "does not say what to do at TERM, HUP, USR1 or USR2",
                           "write USR1=snapshot-exit, and more after commas");
  }
  const std::string what(word.substr(equals + 1));
  if (what == "snapshot-exit") {
    saving.insert(deed->number);
  } else if (what == deed->usual) {
    saving.erase(deed->number);
  } else {
    const std::string usual(deed->usual);
    return refused_setting(
        on_signal,
        setting,
        "does not tell what to do",
        did_you_mean(what, {usual, "snapshot-exit"}, "write " + usual + " or snapshot-exit"));
  }
  return {};
}

Result<std::set<int>> read_saving_signals(const Setting& setting) {
  std::set<int> saving;
  for (const std::string_view word : parts_of(setting.value)) {
    if (auto read = read_deed(setting, word, saving); !read) return read.error();
  }
  return saving;
}

/// 0 for "off".
Result<Millis> read_before_end(const Setting& setting) {
  if (setting.value == "off") return Millis{0};
  const auto time = parse_duration(setting.value);
  if (!time) {
    return refused_setting("stop-before-end",
                           setting,
                           "is no time",
                           did_you_mean(setting.value, {"off"}, "write off, 90s or 5m"));
  }
  return *time;
}

}  // namespace

Millis StopOptions::save_grace() const {
  constexpr Millis reserve{10'000};
  return std::max(grace, before_end - reserve);
}

Result<StopOptions> read_stop_options(const Settings& all) {
  StopOptions options;
  const auto grace = read_duration("grace", all.at("grace"));
  if (!grace) return grace.error();
  options.grace = *grace;
  const auto before_end = read_before_end(all.at("stop-before-end"));
  if (!before_end) return before_end.error();
  options.before_end = *before_end;
  auto saving = read_saving_signals(all.at(on_signal));
  if (!saving) return saving.error();
  options.saving_signals = *std::move(saving);
  constexpr int requeues_limit = 1'000'000;
  const auto requeues =
      read_count("requeue", all.at("requeue"), "number of restarts", 0, requeues_limit);
  if (!requeues) return requeues.error();
  options.requeues_max = *requeues;
  return options;
}

}  // namespace ddprun
