#include "launcher/options/torchrun_options.hpp"

#include "launcher/options/read_setting.hpp"
#include "launcher/text/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace ddprun {
namespace {

/// Nothing given is right, too.
Result<void> check_choice(const char* name,
                          const Settings& all,
                          const std::vector<std::string>& choices,
                          const std::string& otherwise) {
  const Setting& setting = all.at(name);
  if (!is_given(setting)) return {};
  if (std::ranges::find(choices, setting.value) != choices.end()) return {};
  return refused_setting(name, setting, "is not known here", otherwise);
}

}  // namespace

Result<void> check_torchrun_options(const Settings& all) {
  if (is_given(all.at("monitor-interval"))) {
    const auto interval = read_duration("monitor-interval", all.at("monitor-interval"));
    if (!interval) return interval.error();
  }
  if (auto right = check_choice("start-method",
                                all,
                                {"spawn", "fork", "forkserver"},
                                "write spawn, fork or forkserver, or leave it out");
      !right) {
    return right;
  }
  if (auto right =
          check_choice("event-log-handler",
                       all,
                       {"null", "console"},
                       "leave it out: ddprun prints what happens, and calls no Python handlers");
      !right) {
    return right;
  }
  if (auto right = check_choice("logs-specs",
                                all,
                                {"default"},
                                "leave it out: --log-dir, --redirects, --tee and --console say "
                                "where output goes");
      !right) {
    return right;
  }
  const auto use_env = read_flag("use-env", all.at("use-env"));
  return use_env ? Result<void>() : Result<void>(use_env.error());
}

std::string needless_note(const Settings& all, const std::vector<std::string>& unused_conf) {
  std::vector<std::string> given;
  for (const char* name : {"monitor-interval", "start-method", "use-env"}) {
    if (is_given(all.at(name))) given.push_back(fmt::format("--{}", name));
  }
  for (const std::string& key : unused_conf) given.push_back("--rdzv-conf " + key);
  if (given.empty()) return {};
  return fmt::format("{}: not needed, changes nothing", fmt::join(given, ", "));
}

}  // namespace ddprun
