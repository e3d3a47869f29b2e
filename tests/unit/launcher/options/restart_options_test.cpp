#include "launcher/options/restart_options.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

Result<RestartOptions> read_restarts(const std::string& window, const std::string& backoff) {
  return read_restart_options({{"max-restarts", {"3", "default"}},
                               {"restart-window", {window, "job.yaml:2:1"}},
                               {"restart-backoff", {backoff, "the command line"}}});
}

TEST_CASE("restart options: their defaults count all failures, and wait up to half a minute") {
  const auto options = read_restarts("off", "0s:30s");
  REQUIRE(options.has_value());
  CHECK(options->count_max == 3);
  CHECK_FALSE(options->window);
  CHECK(options->wait_min == Millis{0});
  CHECK(options->wait_max == Millis{30'000});
}

TEST_CASE("restart options: a window and two times, or one that stands for both") {
  const auto options = read_restarts("24h", "500ms:2m");
  REQUIRE(options.has_value());
  CHECK(options->window == Millis{86'400'000});
  CHECK(options->wait_min == Millis{500});
  CHECK(options->wait_max == Millis{120'000});
  const auto same = read_restarts("off", "5s");
  REQUIRE(same.has_value());
  CHECK(same->wait_min == Millis{5'000});
  CHECK(same->wait_max == Millis{5'000});
}

TEST_CASE("restart options: a worker hangs after a second or more, or never") {
  const auto read = [](const char* text) {
    return read_hang_timeout({{"hang-timeout", {text, "the command line"}}});
  };
  CHECK_FALSE(read("off").value());
  CHECK(read("1s").value() == Millis{1'000});
  CHECK(read("soon").error().message() ==
        "--hang-timeout: 'soon' from the command line is no time; write off, 90s, 5m or 1h");
  for (const char* little : {"0", "999ms"}) {
    CHECK(read(little).error().message().ends_with(
        "is less than workers need to tell of a step; write off, 1s or more"));
  }
}

TEST_CASE("restart options: what makes no sense is refused with what to write") {
  struct Case {
    const char* window;
    const char* backoff;
    const char* message;
  };
  for (const Case& each :
       {Case{"of",
             "0:0",
             "--restart-window: 'of' from job.yaml:2:1 is no time; did you mean 'off'?"},
        Case{"0",
             "0:0",
             "--restart-window: '0' from job.yaml:2:1 counts no failure; write off, or a longer "
             "time"},
        Case{"off",
             "1s:",
             "--restart-backoff: '1s:' from the command line are no times; write MIN:MAX such as "
             "0s:30s, or one time"},
        Case{"off",
             "3s:2s",
             "--restart-backoff: '3s:2s' from the command line has MIN beyond MAX; write MIN:MAX "
             "with MIN <= MAX"}}) {
    const auto options = read_restarts(each.window, each.backoff);
    REQUIRE_FALSE(options.has_value());
    CHECK(options.error().message() == each.message);
  }
}

}  // namespace
}  // namespace ddprun
