#include "launcher/options/option_table.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

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

std::vector<std::string> names_abbreviated(std::string_view beginning) {
  std::vector<std::string> names;
  for (const OptionSpec* option : options_abbreviated(beginning)) names.emplace_back(option->name);
  return names;
}

TEST_CASE("option table: the beginning of a name stands for torchrun's options alone") {
  using Some = std::vector<std::string>;
  CHECK(names_abbreviated("redirect") == Some{"redirects"});
  CHECK(names_abbreviated("nproc_per") == Some{"nproc-per-node"});
  CHECK(names_abbreviated("no") == Some{"node-rank", "no-python"});
  CHECK(names_abbreviated("rdzv-b") == Some{"rdzv-backend"});
  CHECK(names_abbreviated("gra").empty());    // --grace is ddprun's own
  CHECK(names_abbreviated("conso").empty());  // so is --console
  CHECK(names_abbreviated("").empty());
  CHECK(names_abbreviated("redirectss").empty());
}

TEST_CASE("option table: names of variables and keys follow from the option's name") {
  CHECK(with_underscores("nproc-per-node") == "nproc_per_node");
  CHECK(variable_name("DDPRUN_", "nproc-per-node") == "DDPRUN_NPROC_PER_NODE");
  CHECK(variable_name("PET_", "max_restarts") == "PET_MAX_RESTARTS");
}

}  // namespace
}  // namespace ddprun
