#include "launcher/options/variables.hpp"

#include "launcher/options/option_table.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

Settings accepted(const Environment& environment) {
  auto settings = settings_in(environment);
  REQUIRE_MESSAGE(settings.has_value(), settings.error().message());
  return *std::move(settings);
}

TEST_CASE("variables: every option that is no command has its DDPRUN_ variable") {
  for (const OptionSpec& option : option_table()) {
    CAPTURE(option.name);
    const std::string name = variable_name("DDPRUN_", option.name);
    const auto settings = settings_in({{name, "x"}});
    if (option.command_only) {
      CHECK_FALSE(settings.has_value());
    } else {
      CHECK(*settings == Settings{{std::string(option.name), {"x", name}}});
    }
  }
}

TEST_CASE("variables: torchrun's options have their PET_ variable and no others do") {
  for (const OptionSpec& option : option_table()) {
    CAPTURE(option.name);
    const std::string name = variable_name("PET_", option.name);
    const Settings settings = accepted({{name, "x"}});
    const bool is_read = option.torchrun && !option.has_no_pet && !option.command_only;
    CHECK(settings.size() == (is_read ? 1 : 0));
  }
}

TEST_CASE("variables: torchrun's other variables are read, and weaker than PET_") {
  const char* const old = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE";
  CHECK(accepted({{old, "a"}}) == Settings{{"log-line-prefix-template", {"a", old}}});
  CHECK(accepted({{old, "a"}, {"PET_LOG_LINE_PREFIX_TEMPLATE", "b"}}) ==
        Settings{{"log-line-prefix-template", {"b", "PET_LOG_LINE_PREFIX_TEMPLATE"}}});
  CHECK(accepted({{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "5"}}) ==
        Settings{{"shutdown-timeout", {"5", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"}}});
}

TEST_CASE("variables: DDPRUN_ wins over PET_") {
  CHECK(accepted({{"PET_MAX_RESTARTS", "1"}, {"DDPRUN_MAX_RESTARTS", "2"}}) ==
        Settings{{"max-restarts", {"2", "DDPRUN_MAX_RESTARTS"}}});
}

TEST_CASE("variables: a flag is on with 1 and off with 0, and words stay for the error") {
  const auto module = [](const char* value) {
    return accepted({{"PET_MODULE", value}}).at("module").value;
  };
  CHECK(module("1") == "true");
  CHECK(module("0") == "false");
  CHECK(module("") == "false");
  CHECK(module("true") == "true");
  CHECK(module("yes") == "yes");
  CHECK(accepted({{"DDPRUN_MAX_RESTARTS", "1"}}).at("max-restarts").value == "1");
}

TEST_CASE("variables: an unknown DDPRUN_ variable is refused with the nearest one") {
  CHECK(settings_in({{"DDPRUN_GRASE", "1s"}}).error().message() ==
        "unknown variable DDPRUN_GRASE in the environment; did you mean 'DDPRUN_GRACE'?");
  CHECK(settings_in({{"DDPRUN_XYZZYXYZZY", "1s"}}).error().message() ==
        "unknown variable DDPRUN_XYZZYXYZZY in the environment; "
        "unset it; names that begin with DDPRUN_ are ddprun's");
  CHECK(settings_in({{"DDPRUN_HELP", "1"}}).error().message().find("did you mean") ==
        std::string::npos);  // and not DDPRUN_FILE
  CHECK_FALSE(settings_in({{"DDPRUN_", ""}}).has_value());
  CHECK_FALSE(settings_in({{"DDPRUN_grace", ""}}).has_value());
}

TEST_CASE("variables: what workers are given and what is not ours is let pass") {
  const Environment given{{"DDPRUN_GENERATION", "1"},
                          {"DDPRUN_JOB_ID", "7"},
                          {"DDPRUN_NODE", "n0"},
                          {"DDPRUN_DEVICE", "0"},
                          {"DDPRUN_CONTROL_FD", "9"},
                          {"PET_UNKNOWN", "x"},
                          {"DDPRUNNER", "x"},
                          {"PATH", "/bin"}};
  CHECK(accepted(given).empty());
  CHECK(is_worker_variable("DDPRUN_NODE"));
  CHECK_FALSE(is_worker_variable("DDPRUN_GRACE"));
}

TEST_CASE("variables: what is replaced is told, with its value") {
  CHECK(replaced_variables_note({{"PATH", "/bin"}, {"DDPRUN_GRACE", "1s"}}).empty());
  CHECK(replaced_variables_note({{"RANK", "3"}, {"MASTER_PORT", "29500"}, {"HOME", "/"}}) ==
        "MASTER_PORT=29500, RANK=3 from the environment: ignored, each worker gets its own");
}

}  // namespace
}  // namespace ddprun
