#include "launcher/options/stop_options.hpp"

#include "launcher/options/read_setting.hpp"
#include "launcher/text/nearest.hpp"
#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

constexpr const char* on_signal = "on-signal";

struct Deed {
  std::string_view signal;
  int number;
  std::string_view usual;  // the default action
};
constexpr std::array deeds{Deed{"TERM", SIGTERM, "auto"},
                           Deed{"HUP", SIGHUP, "stop"},
                           Deed{"USR1", SIGUSR1, "pass"},
                           Deed{"USR2", SIGUSR2, "pass"}};

const Deed* deed_of(std::string_view signal) {
  if (signal.starts_with("SIG")) signal.remove_prefix(3);
  const auto found =
      std::ranges::find_if(deeds, [&](const Deed& each) { return each.signal == signal; });
  return found == deeds.end() ? nullptr : found;
}

/// Of one "USR1=snapshot-exit".
Result<void> read_deed(const Setting& setting, std::string_view word, StopOptions& options) {
  const std::size_t equals = word.find('=');
  const Deed* deed = deed_of(word.substr(0, equals));
  if (equals == std::string_view::npos || deed == nullptr) {
    return refused_setting(on_signal,
                           setting,
                           "does not say what to do at TERM, HUP, USR1 or USR2",
                           "write USR1=snapshot-exit, and more after commas");
  }
  const std::string what(word.substr(equals + 1));
  options.saving_signals.erase(deed->number);
  options.stopping_signals.erase(deed->number);
  options.leaving_signals.erase(deed->number);
  options.snapshot_signals.erase(deed->number);
  options.evicting_signals.erase(deed->number);
  if (what == "snapshot-exit") {
    options.saving_signals.insert(deed->number);
  } else if (what == "snapshot" && is_for_workers(deed->number)) {
    options.snapshot_signals.insert(deed->number);
  } else if (what == "leave") {
    options.leaving_signals.insert(deed->number);
  } else if (what == "stop") {
    if (is_for_workers(deed->number)) options.stopping_signals.insert(deed->number);
  } else if (what == "auto" && what == deed->usual) {
    options.evicting_signals.insert(deed->number);
  } else if (what != deed->usual) {
    const bool is_passed = is_for_workers(deed->number);
    std::vector<std::string> choices{std::string(deed->usual), "stop", "snapshot-exit", "leave"};
    if (is_passed) choices.emplace_back("snapshot");
    return refused_setting(
        on_signal,
        setting,
        "does not tell what to do",
        did_you_mean(what,
                     choices,
                     is_passed               ? "write pass, stop, snapshot, snapshot-exit or leave"
                     : deed->usual == "auto" ? "write auto, stop, snapshot-exit or leave"
                                             : "write stop, snapshot-exit or leave"));
  }
  return {};
}

/// torchrun's list: what it names stops the job. Names that stop it anyway add nothing.
Result<void> read_handled_signals(const Setting& setting, StopOptions& options) {
  for (const std::string_view word : parts_of(setting.value)) {
    const std::string_view name = trimmed(word);
    const Deed* deed = deed_of(name);
    if (deed != nullptr && is_for_workers(deed->number)) {
      options.stopping_signals.insert(deed->number);
    } else if (deed == nullptr && name != "SIGINT" && name != "SIGQUIT" && name != "INT" &&
               name != "QUIT") {
      return refused_setting("signals-to-handle",
                             setting,
                             fmt::format("has '{}', which cannot stop the job", name),
                             "write some of SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2");
    }
  }
  return {};
}

Result<void> read_signals(const Settings& all, StopOptions& options) {
  if (auto read = read_handled_signals(all.at("signals-to-handle"), options); !read) return read;
  for (const std::string_view word : parts_of(all.at(on_signal).value)) {
    if (auto read = read_deed(all.at(on_signal), word, options); !read) return read;
  }
  return {};
}

/// torchrun's option counts only where ddprun's own was not given.
Result<Millis> read_grace(const Settings& all) {
  const bool by_torchrun = is_given(all.at("shutdown-timeout")) && !is_given(all.at("grace"));
  const char* const name = by_torchrun ? "shutdown-timeout" : "grace";
  return read_duration(name, all.at(name));
}

}  // namespace

Millis StopOptions::save_grace() const {
  constexpr Millis reserve{10'000};
  return before_end ? std::max(grace, *before_end - reserve) : grace;
}

Result<StopOptions> read_stop_options(const Settings& all) {
  StopOptions options;
  const auto grace = read_grace(all);
  if (!grace) return grace.error();
  options.grace = *grace;
  const auto before_end = read_duration_or_off("stop-before-end", all.at("stop-before-end"));
  if (!before_end) return before_end.error();
  options.before_end = *before_end == Millis{0} ? std::nullopt : *before_end;
  if (auto read = read_signals(all, options); !read) return read.error();
  constexpr int requeues_limit = 1'000'000;
  const auto requeues =
      read_count("requeue", all.at("requeue"), "number of restarts", 0, requeues_limit);
  if (!requeues) return requeues.error();
  options.requeues_max = *requeues;
  return options;
}

}  // namespace ddprun
