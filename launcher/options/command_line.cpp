#include "launcher/options/command_line.hpp"

#include "launcher/options/option_table.hpp"
#include "launcher/text/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace ddprun {
namespace {

constexpr const char* origin = "the command line";

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

/// What stands behind the name in the word of `option`: of "--grace=5s" and "-fjob.yaml" that is
/// "5s" and "job.yaml". Nothing: only the name is there.
std::optional<std::string> joined_value(const std::string& word, const OptionSpec& option) {
  if (!word.starts_with("--")) {
    const std::size_t name_size = 1 + option.short_name.size();
    return word.size() > name_size ? std::optional(word.substr(name_size)) : std::nullopt;
  }
  const std::size_t equals = word.find('=');
  return equals == std::string::npos ? std::nullopt : std::optional(word.substr(equals + 1));
}

Error needless_value(const std::string& word, const OptionSpec& option) {
  const bool is_long = word.starts_with("--");
  const std::string name = word.substr(0, is_long ? word.find('=') : 1 + option.short_name.size());
  if (!option.format.empty()) {
    return {ExitStatus::usage,
            fmt::format("option '{}' on {} has no such format", name, origin),
            "",
            fmt::format("write {} or {}={}", name, name, option.format)};
  }
  return {ExitStatus::usage,
          fmt::format("option '{}' on {} takes no value", name, origin),
          "",
          "omit it to turn it off"};
}

Error missing_value(const std::string& word) {
  return {ExitStatus::usage,
          fmt::format("option '{}' on {} has no value", word, origin),
          "",
          fmt::format("write {} VALUE, or {}=VALUE if it begins with a dash", word, word)};
}

std::string with_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string full_name(const OptionSpec& option) {
  return fmt::format("--{}", option.name);
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
  return {ExitStatus::usage,
          fmt::format("unknown option '{}' on {}", word, origin),
          "",
          did_you_mean(with_dashes(word), names, "ddprun --help lists all options")};
}

/// Of a flag, which has none unless it names a format.
Result<std::string> flag_value(const std::string& word, const OptionSpec& option) {
  const auto joined = joined_value(word, option);
  if (!joined) return std::string("true");
  if (option.format.empty() || *joined != option.format) return needless_value(word, option);
  return *joined;
}

/// Whether a word that stands apart is the value of the option before it.
bool is_value(const std::string& word) {
  return !word.starts_with("--") && !(word.starts_with("-") && option_in(word) != nullptr);
}

/// The options at the beginning of `arguments`; `count` is how many of the arguments they are.
Result<Settings> read_options(const std::vector<std::string>& arguments, std::size_t& count) {
  Settings settings;
  for (count = 0; count < arguments.size(); ++count) {
    const std::string& word = arguments[count];
    if (word.size() < 2 || word[0] != '-' || word == "--") break;
    const OptionSpec* option = option_in(word);
    if (option == nullptr) return unknown_option(word.substr(0, word.find('=')));
    Setting& setting = settings[std::string(option->name)];  // as in torchrun, the last one holds
    setting.origin = origin;
    if (option->is_flag()) {
      auto value = flag_value(word, *option);
      if (!value) return value.error();
      setting.value = *std::move(value);
    } else if (auto joined = joined_value(word, *option)) {
      setting.value = *std::move(joined);
    } else {
      ++count;
      if (count == arguments.size() || !is_value(arguments[count])) return missing_value(word);
      setting.value = arguments[count];
    }
  }
  return settings;
}

}  // namespace

Result<Source> parse_command_line(const std::vector<std::string>& arguments) {
  std::size_t option_count = 0;
  Result<Settings> settings = read_options(arguments, option_count);
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
