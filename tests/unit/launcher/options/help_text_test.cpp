#include "launcher/options/help_text.hpp"

#include "launcher/options/option_table.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

std::vector<std::string_view> lines_of_help(const std::string& help) {
  std::vector<std::string_view> lines;
  std::string_view rest = help;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return lines;
}

TEST_CASE("help text: it fits every terminal of 60 to 120 columns") {
  std::set<std::string> too_long;
  for (int columns = 60; columns <= 120; ++columns) {
    const std::string help = help_text(columns);
    for (const std::string_view line : lines_of_help(help)) {
      if (line.size() > static_cast<std::size_t>(columns)) too_long.emplace(line);
    }
    CHECK(help.ends_with('\n'));
  }
  for (const std::string& line : too_long) FAIL_CHECK(line.size() << " columns: " << line);
}

TEST_CASE("help text: it names every option with its value, its default and its text") {
  const std::string help = help_text(100);
  for (const OptionSpec& option : option_table()) {
    CAPTURE(option.name);
    std::string label = "--" + std::string(option.name);
    if (!option.format.empty()) label += "[=" + std::string(option.format) + "]";
    if (!option.is_flag()) label += " " + std::string(option.value_name);
    const bool is_there =
        help.find(label + " ") != std::string::npos || help.find(label + "\n") != std::string::npos;
    CHECK(is_there);
    if (!option.fallback.empty()) {
      CHECK(help.find("[" + std::string(option.fallback) + "]") != std::string::npos);
    }
    CHECK(help.find(option.help.substr(0, option.help.find(' '))) != std::string::npos);
  }
}

TEST_CASE("help text: called as torchrun it names no subcommands") {
  const std::string help = help_text(100, true);
  CHECK(help.starts_with("Usage: torchrun [options] PROGRAM.py"));
  CHECK(help.find("hostlist") == std::string::npos);
  CHECK(help.ends_with(help_text(100).substr(help_text(100).find("\nJob:"))));
}

TEST_CASE("help text: a terminal narrower or wider than that gets the nearest width") {
  CHECK(help_text(0) == help_text(60));
  CHECK(help_text(-1) == help_text(60));
  CHECK(help_text(1'000) == help_text(120));
}

}  // namespace
}  // namespace ddprun
