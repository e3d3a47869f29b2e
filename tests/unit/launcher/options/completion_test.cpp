#include "launcher/options/completion.hpp"

#include "launcher/options/option_table.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

TEST_CASE("completion: each shell's script has every option and the words of its values") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const std::string script = completion_script({shell, "the command line"}, "ddprun").value();
    for (const OptionSpec& option : option_table()) {
      CAPTURE(option.name);
      const bool named = script.find("--" + std::string(option.name)) != std::string::npos ||
                         script.find("-l " + std::string(option.name)) != std::string::npos;
      CHECK(named);
      CHECK(script.find(option.words) != std::string::npos);
    }
  }
}

TEST_CASE("completion: a shell that nobody knows is refused") {
  const auto refused = completion_script({"zhs", "the command line"}, "ddprun");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().status() == ExitStatus::usage);
  CHECK(refused.error().message() ==
        "--print-completion: 'zhs' from the command line is no shell that ddprun knows; did you "
        "mean 'zsh'?");
}

}  // namespace
}  // namespace ddprun
