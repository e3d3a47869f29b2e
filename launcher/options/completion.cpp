#include "launcher/options/completion.hpp"

#include "launcher/options/option_table.hpp"
#include "launcher/options/read_setting.hpp"
#include "launcher/text/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace ddprun {
namespace {

/// Reads the line as ddprun does: the first word that is neither an option nor its value is the
/// program. bash takes "=" and ":" for words of their own.
constexpr std::string_view bash_function = R"bash(_ddprun_full() {
    local name=${1//_/-}
    local found=($(compgen -W "$(_ddprun_abbreviated)" -- "$name"))
    [[ ${#found[@]} != 1 ]] || name=${found[0]}
    printf "%s\n" "$name"
}
_ddprun() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} option='' i=1
    COMPREPLY=()
    [[ ${COMP_WORDS[1]} != coordinator || $COMP_CWORD == 1 ]] || i=2
    for ((; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            [=:]) option='' # and what follows belongs to the word before
                i=$((i + 1)) ;;
            *) if [[ $option ]]; then
                   option=''
               elif [[ ${COMP_WORDS[i]} != -* || ${COMP_WORDS[i]} == -- ]]; then
                   return
               elif _ddprun_takes_value "$(_ddprun_full "${COMP_WORDS[i]}")"; then
                   option=${COMP_WORDS[i]}
               fi ;;
        esac
    done
    if [[ $word == = ]]; then
        option=$before word=''
    elif [[ $before == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $option ]]; then
        option=$(_ddprun_full "$option")
        COMPREPLY=($(compgen -W "$(_ddprun_words "$option")" -- "$word"))
        if _ddprun_takes_folder "$option"; then
            local IFS=$'\n'
            compopt -o filenames 2> /dev/null
            COMPREPLY+=($(compgen -d -- "$word"))
        fi
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(_ddprun_options)" -- "${word//_/-}"))
    fi
}
)bash";

/// "{}" stands for the options that may be abbreviated, and then for those with a value.
constexpr std::string_view fish_function = R"fish(function __ddprun_has_options
    set -l words (commandline -opc)[2..]
    test "$words[1]" != coordinator; or set -e words[1]
    set -l is_value no
    for word in $words
        if test $is_value = yes
            set is_value no
            continue
        end
        set -l name (string replace --all _ - -- $word)
        set -l full (string match -- "$name*"{})
        test (count $full) = 1; and set name $full
        switch $name
            case --
                return 1
            case{}
                set is_value yes
            case '-*'
            case '*'
                return 1
        end
    end
    return 0
end
)fish";

bool takes_folder(const OptionSpec& option) {
  return option.value_name == "DIR";
}

/// What may follow the option's name: some of its values, or of a flag after "=".
std::string_view words_of_option(const OptionSpec& option) {
  return option.is_flag() ? option.format : option.words;
}

std::string single_quoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted;
}

/// "--tee|-t": the option's names as a pattern of bash.
std::string pattern_of(const OptionSpec& option) {
  std::string pattern = fmt::format("--{}", option.name);
  if (!option.short_name.empty()) pattern += fmt::format("|-{}", option.short_name);
  return pattern;
}

/// " --nnodes --standalone": with a blank before each name.
std::string abbreviated_options() {
  std::string names;
  for (const OptionSpec& option : option_table()) {
    if (option.torchrun) names += fmt::format(" --{}", option.name);
  }
  return names;
}

/// Functions with the table's rows, and then those that complete.
std::string bash_script(std::string_view command) {
  std::string options;
  std::vector<std::string> with_value;
  std::vector<std::string> with_folder;
  std::string words;
  for (const OptionSpec& option : option_table()) {
    options += fmt::format(" --{}", option.name);
    if (!option.is_flag()) with_value.push_back(pattern_of(option));
    if (takes_folder(option)) with_folder.push_back(pattern_of(option));
    if (words_of_option(option).empty()) continue;
    words += fmt::format("        {}) echo '{}' ;;\n", pattern_of(option), words_of_option(option));
  }
  const auto test = [](std::string_view name, const std::vector<std::string>& patterns) {
    return fmt::format(
        "{}() {{\n    case $1 in\n        {}) ;;\n        *) return 1 ;;\n    esac\n}}\n",
        name,
        fmt::join(patterns, "|"));
  };
  return fmt::format(
      "# Completion of ddprun for bash.\n"
      "_ddprun_options() {{\n    echo '{}'\n}}\n"
      "_ddprun_abbreviated() {{\n    echo '{}'\n}}\n{}{}"
      "_ddprun_words() {{\n    case $1 in\n{}    esac\n}}\n{}"
      "complete -o default -F _ddprun {}\n",
      options.substr(1),
      abbreviated_options().substr(1),
      test("_ddprun_takes_value", with_value),
      test("_ddprun_takes_folder", with_folder),
      words,
      bash_function,
      command);
}

/// In zsh's _arguments brackets and colons have a meaning.
std::string for_arguments(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return single_quoted(escaped);
}

/// What zsh offers as the option's value.
std::string zsh_action(const OptionSpec& option) {
  const bool has_words = !option.words.empty();
  if (!takes_folder(option)) return has_words ? fmt::format("({})", option.words) : "_files";
  return has_words ? fmt::format(" _ddprun_folder {}", option.words) : "_directories";
}

/// What follows the option's name in a row of _arguments: how its value is written, and its help.
std::string zsh_row(const OptionSpec& option, std::string_view name, std::string_view equals) {
  const std::string help = for_arguments(option.help);
  if (!option.is_flag()) {
    return fmt::format("        '{}{}[{}]:{}:{}' \\\n",
                       name,
                       equals,
                       help,
                       for_arguments(option.value_name),
                       zsh_action(option));
  }
  if (option.format.empty()) return fmt::format("        '{}[{}]' \\\n", name, help);
  return fmt::format("        '{}=-[{}]::format:({})' \\\n", name, help, option.format);
}

/// -A: no options after the program. The coordinator's own options follow its name. _arguments
/// knows whole names alone.
std::string zsh_script(std::string_view command) {
  std::string rows;
  for (const OptionSpec& option : option_table()) {
    rows += zsh_row(option, fmt::format("--{}", option.name), "=");
    if (option.short_name.empty()) continue;
    rows += zsh_row(option, fmt::format("-{}", option.short_name), "");
  }
  return fmt::format(
      "#compdef {0}\n# Completion of ddprun for zsh.\n"
      "_ddprun_folder() {{\n"
      "    _alternative \"values:value:($*)\" 'folders:folder:_directories'\n}}\n"
      "_ddprun() {{\n"
      "    if [[ $words[2] == coordinator ]] && (( CURRENT > 2 )); then\n"
      "        shift words\n        (( CURRENT-- ))\n    fi\n"
      "    local -a names=({1}) found\n    local i\n"
      "    for (( i = 2; i < CURRENT; i++ )); do\n"
      "        found=(${{(M)names:#${{(b)words[i]//_/-}}*}})\n"
      "        (( $#found != 1 )) || words[i]=$found\n    done\n"
      "    _arguments -S -A '-*' \\\n{2}"
      "        '1:program:_files' '*:argument:_files'\n}}\n"
      "if [[ $funcstack[1] == _ddprun ]]; then _ddprun \"$@\"; else compdef _ddprun {0}; fi\n",
      command,
      abbreviated_options(),
      rows);
}

std::string fish_values(const OptionSpec& option) {
  const std::string_view words = words_of_option(option);
  if (takes_folder(option)) {
    return fmt::format(
        " -f -a '{}{}(__fish_complete_directories)'", words, words.empty() ? "" : " ");
  }
  return words.empty() ? std::string() : fmt::format(" -f -a '{}'", words);
}

/// A test whether the program is still to come, as in bash.
std::string fish_test() {
  std::string with_value;
  for (const OptionSpec& option : option_table()) {
    if (option.is_flag()) continue;
    with_value += fmt::format(" --{}", option.name);
    if (!option.short_name.empty()) with_value += fmt::format(" -{}", option.short_name);
  }
  return fmt::format(fish_function, abbreviated_options(), with_value);
}

std::string fish_script(std::string_view command) {
  std::string text = fmt::format("# Completion of ddprun for fish.\n{}", fish_test());
  for (const OptionSpec& option : option_table()) {
    text += fmt::format("complete -c {} -n __ddprun_has_options -l {}", command, option.name);
    if (!option.short_name.empty()) text += fmt::format(" -s {}", option.short_name);
    if (!option.is_flag()) text += " -r";
    text += fish_values(option);
    std::string help;
    for (const char c : option.help) {
      if (c == '\'' || c == '\\') help += '\\';
      help += c;
    }
    text += fmt::format(" -d '{}'\n", help);
  }
  return text;
}

}  // namespace

Result<std::string> completion_script(const Setting& shell, std::string_view command) {
  if (shell.value == "bash") return bash_script(command);
  if (shell.value == "zsh") return zsh_script(command);
  if (shell.value == "fish") return fish_script(command);
  return refused_setting(
      "print-completion",
      shell,
      "is no shell that ddprun knows",
      did_you_mean(shell.value, {"bash", "zsh", "fish"}, "write bash, zsh or fish"));
}

}  // namespace ddprun
