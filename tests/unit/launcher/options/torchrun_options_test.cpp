#include "launcher/options/torchrun_options.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

Settings torchrun_settings(const std::string& name = {}, const std::string& value = {}) {
  Settings all;
  for (const char* each :
       {"monitor-interval", "start-method", "event-log-handler", "logs-specs", "use-env"}) {
    all[each] = {"", "default"};
  }
  if (!name.empty()) all[name] = {value, "the command line"};
  return all;
}

TEST_CASE("torchrun options: what torchrun accepts without effect here is accepted") {
  CHECK(check_torchrun_options(torchrun_settings()).has_value());
  for (const auto& [name, value] : {std::pair{"monitor-interval", "0.1"},
                                    std::pair{"monitor-interval", "5"},
                                    std::pair{"start-method", "spawn"},
                                    std::pair{"start-method", "forkserver"},
                                    std::pair{"event-log-handler", "null"},
                                    std::pair{"event-log-handler", "console"},
                                    std::pair{"logs-specs", "default"},
                                    std::pair{"use-env", "true"}}) {
    const std::string option = name;
    CAPTURE(option);
    CHECK(check_torchrun_options(torchrun_settings(name, value)).has_value());
  }
}

TEST_CASE("torchrun options: what would ask for something else is refused with what to do") {
  const auto refusal = [](const std::string& name, const std::string& value) {
    const auto right = check_torchrun_options(torchrun_settings(name, value));
    REQUIRE_FALSE(right.has_value());
    CHECK(right.error().status() == ExitStatus::usage);
    return right.error().message();
  };
  CHECK(refusal("monitor-interval", "soon") ==
        "--monitor-interval: 'soon' from the command line is no time; write 250ms, 5s, 2m or 1h");
  CHECK(refusal("start-method", "thread") ==
        "--start-method: 'thread' from the command line is not known here; write spawn, fork or "
        "forkserver, or leave it out");
  CHECK(refusal("event-log-handler", "mine").find("leave it out: ddprun prints") !=
        std::string::npos);
  CHECK(refusal("logs-specs", "mine").find("--log-dir, --redirects, --tee and --console") !=
        std::string::npos);
  CHECK(refusal("use-env", "maybe").find("is neither true nor false") != std::string::npos);
}

TEST_CASE("torchrun options: people are told of what they need not write") {
  CHECK(needless_note(torchrun_settings(), {}).empty());
  CHECK(needless_note(torchrun_settings("logs-specs", "default"), {}).empty());
  Settings all = torchrun_settings("monitor-interval", "1");
  CHECK(needless_note(all, {}) == "--monitor-interval: not needed, changes nothing");
  all["use-env"] = {"true", "the command line"};
  CHECK(needless_note(all, {}) == "--monitor-interval, --use-env: not needed, changes nothing");
  CHECK(needless_note(torchrun_settings(), {"a", "b"}) ==
        "--rdzv-conf a, --rdzv-conf b: not needed, changes nothing");
}

}  // namespace
}  // namespace ddprun
