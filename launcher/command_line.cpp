#include "launcher/command_line.hpp"

#include "launcher/nearest.hpp"
#include "launcher/option_table.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace ddprun {
namespace {

namespace po = boost::program_options;

constexpr const char* origin = "the command line";

po::options_description descriptions() {
  po::options_description all;
  for (const OptionSpec& option : option_table()) {
    std::string names(option.name);
    if (!option.short_name.empty()) names += fmt::format(",{}", option.short_name);
    if (option.is_flag()) {
      all.add_options()(names.c_str(), "");
    } else {
      all.add_options()(names.c_str(), po::value<std::string>(), "");
    }
  }
  return all;
}

/// The option that a word such as "--grace=5s" or "-f" names, or null.
const OptionSpec* option_in(const std::string& word) {
  if (word.starts_with("--")) return find_option(word.substr(2, word.find('=') - 2));
  const auto table = option_table();
  const auto found = std::ranges::find_if(table, [&](const OptionSpec& option) {
    return !option.short_name.empty() && word.substr(1).starts_with(option.short_name);
  });
  return found == table.end() ? nullptr : &*found;
}

/// How many of the first words are options and their values.
std::size_t count_option_words(const std::vector<std::string>& words) {
  std::size_t i = 0;
  while (i < words.size() && words[i].size() > 1 && words[i][0] == '-' && words[i] != "--") {
    const OptionSpec* option = option_in(words[i]);
    const bool joined =
        words[i].starts_with("--") ? words[i].find('=') != std::string::npos : words[i].size() > 2;
    i += option != nullptr && !option->is_flag() && !joined ? 2 : 1;
  }
  return std::min(i, words.size());
}

std::string with_dashes(std::string word) {
  if (!word.starts_with("--")) return word;
  const auto name_end =
      word.begin() + static_cast<std::ptrdiff_t>(std::min(word.find('='), word.size()));
  std::replace(word.begin(), name_end, '_', '-');
  return word;
}

Error unknown_option(const std::string& word) {
  std::vector<std::string> names;
  for (const OptionSpec& option : option_table()) names.push_back(fmt::format("--{}", option.name));
  return {ExitStatus::usage,
          fmt::format("unknown option '{}' on {}", word, origin),
          "",
          did_you_mean(word, names, "ddprun --help lists all options")};
}

Result<Settings> parse_options(const std::vector<std::string>& words) {
  using style = po::command_line_style::style_t;
  constexpr int options_as_in_getopt =
      style::allow_long | style::long_allow_adjacent | style::long_allow_next | style::allow_short |
      style::allow_dash_for_short | style::short_allow_adjacent | style::short_allow_next;
  Settings settings;
  try {
    const auto all = descriptions();
    const auto parsed =
        po::command_line_parser(words).options(all).style(options_as_in_getopt).run();
    for (const auto& option : parsed.options) {
      const std::string value = option.value.empty() ? "true" : option.value.front();
      settings[option.string_key] = Setting{value, origin};  // as in torchrun, the last one holds
    }
  } catch (const po::unknown_option& unknown) {
    return unknown_option(unknown.get_option_name());
  } catch (const po::error& error) {
    return Error(ExitStatus::usage,
                 fmt::format("cannot read {}", origin),
                 error.what(),
                 "ddprun --help lists all options");
  }
  return settings;
}

}  // namespace

Result<Source> parse_command_line(const std::vector<std::string>& arguments) {
  const std::size_t option_count = count_option_words(arguments);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < option_count; ++i) words.push_back(with_dashes(arguments[i]));
  Result<Settings> settings = parse_options(words);
  if (!settings) return settings.error();

  Source source;
  source.settings = std::move(*settings);
  std::size_t next = option_count;
  const bool separated = next < arguments.size() && arguments[next] == "--";
  if (separated) ++next;
  const bool program_in_file = separated && source.settings.contains("file");
  if (!program_in_file && next < arguments.size()) source.program = {arguments[next++], origin};
  source.arguments.assign(arguments.begin() + static_cast<std::ptrdiff_t>(next), arguments.end());
  return source;
}

}  // namespace ddprun
