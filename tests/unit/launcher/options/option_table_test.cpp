#include "launcher/options/option_table.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>

namespace ddprun {
namespace {

TEST_CASE("option table: every option has a name of its own, a place and a help text") {
  std::set<std::string> names;
  std::set<std::string> short_names;
  for (const OptionSpec& option : option_table()) {
    CAPTURE(option.name);
    CHECK(names.insert(with_underscores(option.name)).second);
    if (!option.short_name.empty()) {
      CHECK(option.short_name.size() == 1);
      CHECK(short_names.insert(std::string(option.short_name)).second);
    }
    CHECK(option.help.ends_with('.'));
    CHECK(option.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos);
    if (option.is_flag()) CHECK(option.fallback.empty());
  }
}

TEST_CASE("option table: an option is found by either spelling and by nothing less") {
  for (const OptionSpec& option : option_table()) {
    CHECK(find_option(option.name) == &option);
    CHECK(find_option(with_underscores(option.name)) == &option);
  }
  for (const char* name : {"", "nproc", "nproc-per-nod", "NPROC-PER-NODE", "f", "--grace"}) {
    CHECK(find_option(name) == nullptr);
  }
}

TEST_CASE("option table: names of variables and keys follow from the option's name") {
  CHECK(with_underscores("nproc-per-node") == "nproc_per_node");
  CHECK(variable_name("DDPRUN_", "nproc-per-node") == "DDPRUN_NPROC_PER_NODE");
  CHECK(variable_name("PET_", "max_restarts") == "PET_MAX_RESTARTS");
}

}  // namespace
}  // namespace ddprun
