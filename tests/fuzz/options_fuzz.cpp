// A command line and variables, with a NUL behind each word; a variable begins with a newline.
// Rule: nothing but options or an error that says something comes of them. No job file is read.
#include "launcher/options/command_line.hpp"
#include "launcher/options/options.hpp"
#include "tests/fuzz/launcher_targets.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::fuzz {

void fuzz_options(std::string_view bytes) {
  std::vector<std::string> arguments;
  Environment environment;
  while (!bytes.empty()) {
    std::string_view word = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(std::min(word.size() + 1, bytes.size()));
    if (!word.starts_with('\n')) {
      arguments.emplace_back(word);
      continue;
    }
    word.remove_prefix(1);
    const std::size_t equals = std::min(word.find('='), word.size());
    environment[std::string(word.substr(0, equals))] =
        word.substr(std::min(equals + 1, word.size()));
  }
  environment.erase("DDPRUN_FILE");

  auto line = parse_command_line(arguments);
  if (line) line->settings.erase("file");
  const auto options =
      line ? assemble_options(*line, environment, {.core_count = 4}) : line.error();
  require(options || !options.error().message().empty(), "an error says something");
}

}  // namespace ddprun::fuzz
