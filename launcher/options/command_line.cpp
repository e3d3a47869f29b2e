#include "launcher/options/command_line.hpp"

#include "launcher/options/option_table.hpp"
#include "launcher/text/nearest.hpp"
#include "launcher/text/values.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

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
    if (!option.format.empty()) {
      all.add_options()(names.c_str(), po::value<std::string>()->implicit_value("true"), "");
    } else if (option.is_flag()) {
      all.add_options()(names.c_str(), "");
    } else {
      all.add_options()(names.c_str(), po::value<std::string>(), "");
    }
  }
  return all;
}

/// The option that a word such as "--grace=5s", "--redirect=3" or "-f" names, or null.
const OptionSpec* option_in(const std::string& word) {
  if (word.starts_with("--")) {
    const std::string name = word.substr(2, word.find('=') - 2);
    const OptionSpec* option = find_option(name);
    if (option != nullptr) return option;
    const auto abbreviated = options_abbreviated(name);
    return abbreviated.size() == 1 ? abbreviated.front() : nullptr;
  }
  const auto table = option_table();
  const auto found = std::ranges::find_if(table, [&](const OptionSpec& option) {
    return !option.short_name.empty() && word.substr(1).starts_with(option.short_name);
  });
  return found == table.end() ? nullptr : &*found;
}

bool is_joined(const std::string& word) {
  return word.starts_with("--") ? word.find('=') != std::string::npos : word.size() > 2;
}

/// "=json", behind the name of a flag that has formats.
std::string format_of(const OptionSpec& option) {
  return fmt::format("={}", option.format);
}

Error needless_value(const std::string& word, const OptionSpec& option) {
  const bool is_long = word.starts_with("--");
  const std::string name = word.substr(0, is_long ? word.find('=') : 1 + option.short_name.size());
  if (!option.format.empty()) {
    return {ExitStatus::usage,
            fmt::format("option '{}' on {} has no such format", name, origin),
            "",
            fmt::format("write {} or {}{}", name, name, format_of(option))};
  }
  return {ExitStatus::usage,
          fmt::format("option '{}' on {} takes no value", name, origin),
          "",
          "omit it to turn it off"};
}

/// "now, snapshot, defer" of "now snapshot defer".
std::string listed(std::string_view words) {
  std::string list;
  for (const char each : words) list += each == ' ' ? std::string(", ") : std::string(1, each);
  return list;
}

Error missing_value(const std::string& word, const OptionSpec& option) {
  const bool has_choice = option.words.find(' ') != std::string_view::npos;
  return {
      ExitStatus::usage,
      fmt::format("option '{}' on {} has no value", word, origin),
      "",
      has_choice
          ? fmt::format("write {} {}, such as {}", word, option.value_name, listed(option.words))
          : fmt::format("write {} VALUE, or {}=VALUE if it begins with a dash", word, word)};
}

std::string with_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string full_name(const OptionSpec& option) {
  return fmt::format("--{}", option.name);
}

/// Whether a word of the option's name begins with `part`, as "restarts" of --max-restarts does
/// with "restart".
bool has_word(const OptionSpec& option, std::string_view part) {
  const std::string name = fmt::format("-{}", option.name);
  return name.find(fmt::format("-{}", part)) != std::string::npos;
}

/// The options that have all words of "--restart-wait", else those that have the first one. None if
/// they are more than a line holds.
std::vector<std::string> related_options(std::string_view word) {
  constexpr std::size_t count_max = 5;
  constexpr std::size_t letters_min = 3;
  std::string dashes_as_commas(word.substr(2));
  std::ranges::replace(dashes_as_commas, '-', ',');
  const std::vector<std::string_view> parts = parts_of(dashes_as_commas);
  if (parts.empty() || parts.front().size() < letters_min) return {};
  std::vector<std::string> with_all;
  std::vector<std::string> with_first;
  for (const OptionSpec& option : option_table()) {
    const auto has = [&](std::string_view part) { return has_word(option, part); };
    if (has(parts.front())) with_first.push_back(full_name(option));
    if (std::ranges::all_of(parts, has)) with_all.push_back(full_name(option));
  }
  const std::vector<std::string>& found = with_all.empty() ? with_first : with_all;
  return found.size() <= count_max ? found : std::vector<std::string>();
}

Error unknown_option(const std::string& word) {
  std::vector<std::string> names;
  if (word.starts_with("--")) {
    for (const OptionSpec* option : options_abbreviated(word.substr(2))) {
      names.push_back(full_name(*option));
    }
  }
  if (!names.empty()) {
    return {ExitStatus::usage,
            fmt::format("option '{}' on {} is ambiguous", word, origin),
            "",
            fmt::format("write {}", fmt::join(names, " or "))};
  }
  for (const OptionSpec& option : option_table()) names.push_back(full_name(option));
  const std::string text = fmt::format("unknown option '{}' on {}", word, origin);
  const std::string dashed = with_dashes(word);
  constexpr std::size_t few_errors = 2;
  if (word.starts_with("--") && nearest(dashed, names, few_errors).empty()) {
    const std::vector<std::string> related = related_options(dashed);
    if (!related.empty()) {
      return {ExitStatus::usage, text, "", fmt::format("there is {}", fmt::join(related, ", "))};
    }
  }
  return {ExitStatus::usage,
          text,
          "",
          did_you_mean(dashed,
                       names,
                       "ddprun --help lists all options; the program's own come after its name, or "
                       "with -f after --")};
}

/// To words that end with the name of an option. The parser knows no empty value that is joined,
/// and takes a word of its own that begins with a dash for an option.
void add_value(const std::string& value, std::vector<std::string>& words) {
  if (!value.starts_with("-")) return words.push_back(value);
  words.back() += (words.back().starts_with("--") ? "=" : "") + value;
}

/// As torchrun reads it: "-r=3" is "-r3".
std::string without_equals(const std::string& word, const OptionSpec& option) {
  const std::size_t end = 1 + option.short_name.size();
  const bool has_equals = !word.starts_with("--") && word.size() > end && word[end] == '=';
  return has_equals && word.size() > end + 1 ? word.substr(0, end) + word.substr(end + 1) : word;
}

/// The options at the beginning of `arguments`, spelt with dashes, each with its value; `count` is
/// how many of the arguments they are.
Result<std::vector<std::string>> option_words(const std::vector<std::string>& arguments,
                                              std::size_t& count) {
  std::vector<std::string> words;
  for (count = 0; count < arguments.size(); ++count) {
    const std::string& word = arguments[count];
    if (word.size() < 2 || word[0] != '-' || word == "--") break;
    const OptionSpec* option = option_in(word);
    if (option == nullptr) return unknown_option(word.substr(0, word.find('=')));
    const bool has_format = !option->format.empty() && word.ends_with(format_of(*option));
    if (option->is_flag() && is_joined(word) && !has_format) return needless_value(word, *option);
    const bool takes_value = !option->is_flag();
    if (word.starts_with("--") && takes_value && is_joined(word)) {
      const std::size_t equals = word.find('=');
      words.push_back(full_name(*option));
      add_value(word.substr(equals + 1), words);
    } else {
      const bool plain = word.starts_with("--") && (!is_joined(word) || has_format);
      words.push_back(plain ? full_name(*option) : without_equals(word, *option));
      if (has_format) words.back() += format_of(*option);
    }
    if (!takes_value || is_joined(word)) continue;
    ++count;
    const bool missing =
        count == arguments.size() || arguments[count].starts_with("--") ||
        (arguments[count].starts_with("-") && option_in(arguments[count]) != nullptr);
    if (missing) return missing_value(word, *option);
    add_value(arguments[count], words);
  }
  return words;
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
    const std::string name = unknown.get_option_name();
    return unknown_option(name.substr(0, name.find('=')));
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
  std::size_t option_count = 0;
  const auto words = option_words(arguments, option_count);
  if (!words) return words.error();
  Result<Settings> settings = parse_options(*words);
  if (!settings) return settings.error();

  Source source;
  source.settings = std::move(*settings);
  std::size_t next = option_count;
  source.after_dashes = next < arguments.size() && arguments[next] == "--";
  if (source.after_dashes) ++next;
  if (next < arguments.size()) source.program = {arguments[next++], origin};
  source.arguments.assign(arguments.begin() + static_cast<std::ptrdiff_t>(next), arguments.end());
  return source;
}

}  // namespace ddprun
