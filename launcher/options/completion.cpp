#include "launcher/options/completion.hpp"

#include "launcher/options/option_table.hpp"
#include "launcher/options/read_setting.hpp"
#include "launcher/text/nearest.hpp"

#include <fmt/format.h>

#include <string_view>

namespace ddprun {
namespace {

/// Reads the line as ddprun does: the first word that is neither an option nor its value is the
/// program. bash takes "=" for a word of its own.
constexpr std::string_view bash_function = R"bash(_ddprun() {
    local word=${COMP_WORDS[COMP_CWORD]} option='' i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            =) ;;
            -*) option=$(_ddprun_option "${COMP_WORDS[i]}") ;;
            *) [[ $option ]] || return
               option='' ;;
        esac
    done
    [[ $word != = ]] || word=''
    if [[ $option ]]; then
        local words=$(_ddprun_words "$option")
        [[ ! $words ]] || COMPREPLY=($(compgen -W "$words" -- "$word"))
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(_ddprun_options)" -- "${word//_/-}"))
    fi
}
complete -o default -F _ddprun ddprun
)bash";

std::string single_quoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted;
}

/// Functions with the table's rows, and then the one that completes.
std::string bash_script() {
  std::string options;
  std::string with_value;
  std::string words;
  for (const OptionSpec& option : option_table()) {
    options += fmt::format(" --{}", option.name);
    if (option.is_flag()) continue;
    const std::string name = fmt::format("--{}", option.name);
    with_value += fmt::format("{}{}", with_value.empty() ? "" : "|", name);
    if (!option.short_name.empty()) with_value += fmt::format("|-{}", option.short_name);
    if (!option.words.empty())
      words += fmt::format("        {}) echo '{}' ;;\n", name, option.words);
  }
  return fmt::format(
      "# Completion of ddprun for bash.\n"
      "_ddprun_options() {{\n    echo '{}'\n}}\n"
      "_ddprun_option() {{ # prints the option if it takes a value\n"
      "    local name=$1\n"
      "    [[ $name != --* ]] || name=${{name//_/-}}\n"
      "    case $name in\n        {}) echo \"$name\" ;;\n    esac\n}}\n"
      "_ddprun_words() {{\n    case $1 in\n{}    esac\n}}\n{}",
      options.substr(1),
      with_value,
      words,
      bash_function);
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

std::string zsh_script() {
  std::string rows;
  for (const OptionSpec& option : option_table()) {
    const std::string help = for_arguments(option.help);
    const std::string action =
        option.words.empty() ? std::string("_files") : fmt::format("({})", option.words);
    const std::string value =
        option.is_flag() ? "" : fmt::format(":{}:{}", for_arguments(option.value_name), action);
    rows += fmt::format(
        "        '--{}{}[{}]{}' \\\n", option.name, option.is_flag() ? "" : "=", help, value);
    if (option.short_name.empty()) continue;
    rows += fmt::format("        '-{}[{}]{}' \\\n", option.short_name, help, value);
  }
  return fmt::format(
      "#compdef ddprun\n# Completion of ddprun for zsh.\n_ddprun() {{\n    _arguments -S \\\n{}"
      "        '1:program:_files' '*:argument:_files'\n}}\n"
      "if [[ $funcstack[1] == _ddprun ]]; then _ddprun \"$@\"; else compdef _ddprun ddprun; fi\n",
      rows);
}

std::string fish_script() {
  std::string text = "# Completion of ddprun for fish.\n";
  for (const OptionSpec& option : option_table()) {
    text += fmt::format("complete -c ddprun -l {}", option.name);
    if (!option.short_name.empty()) text += fmt::format(" -s {}", option.short_name);
    if (!option.is_flag()) text += " -r";
    if (!option.words.empty()) text += fmt::format(" -f -a '{}'", option.words);
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

Result<std::string> completion_script(const Setting& shell) {
  if (shell.value == "bash") return bash_script();
  if (shell.value == "zsh") return zsh_script();
  if (shell.value == "fish") return fish_script();
  return refused_setting(
      "print-completion",
      shell,
      "is no shell that ddprun knows",
      did_you_mean(shell.value, {"bash", "zsh", "fish"}, "write bash, zsh or fish"));
}

}  // namespace ddprun
