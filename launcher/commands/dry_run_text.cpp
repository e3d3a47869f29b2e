#include "launcher/commands/dry_run_text.hpp"

#include "launcher/options/option_table.hpp"
#include "launcher/text/shell_word.hpp"
#include "launcher/text/text_of_count.hpp"
#include "launcher/text/wrapped.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddprun {
namespace {

constexpr std::size_t columns = 100;
constexpr std::string_view hanging_indent = "    ";
constexpr std::string_view comment_indent = "#   ";

/// With its control characters as C writes them: a value must not look like a line of its own, nor
/// move the cursor.
std::string on_one_line(std::string_view text) {
  constexpr char del = 0x7f;
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if ((c >= 0 && c < ' ') || c == del) {
      line += fmt::format("\\x{:02x}", c);
    } else {
      line += c;
    }
  }
  return line;
}

std::string row(std::string_view name, std::string_view value, std::string_view from) {
  return fmt::format("{:<16} {:<24} {}\n",
                     on_one_line(name),
                     value.empty() ? "-" : on_one_line(value),
                     on_one_line(from));
}

std::string given_text(const DryRun& dry_run) {
  std::string text = row("OPTION", "VALUE", "FROM");
  for (const auto& [name, setting] : dry_run.given)
    text += row(name, setting.value, setting.origin);
  if (!dry_run.workers.empty()) {
    text += row("program", dry_run.program.value, dry_run.program.origin);
  }
  for (const auto& [name, setting] : dry_run.env) {
    text += row("env " + name, setting.value, setting.origin);
  }
  return text;
}

std::string defaults_text(const DryRun::Values& defaults) {
  std::vector<std::string> values;
  std::vector<std::string> unset;
  for (const auto& [name, setting] : defaults) {
    if (setting.value.empty()) {
      unset.push_back(name);
    } else {
      values.push_back(fmt::format("{}={}", name, setting.value));
    }
  }
  std::string text = "\n";
  for (const auto& [title, words] : {std::pair{"Defaults", values}, std::pair{"Not set", unset}}) {
    if (words.empty()) continue;
    const std::string all = fmt::format("{}: {}", title, fmt::join(words, ", "));
    text += fmt::format("{}\n",
                        fmt::join(wrapped(all, columns - hanging_indent.size()),
                                  fmt::format("\n{}", hanging_indent)));
  }
  return text;
}

std::string assignment(const std::string& name, const std::string& value) {
  return fmt::format("{}={}", name, value.empty() ? "" : shell_word(value));
}

/// Commands of sh that set what all workers share. Variables that sh cannot set are left out.
std::string shared_text(const DryRun& dry_run) {
  std::string text = "\n# What all workers share:\n";
  for (const std::string& name : dry_run.removed) {
    if (is_shell_name(name)) text += fmt::format("unset {}\n", name);
  }
  for (const auto& [name, value] : dry_run.shared) {
    if (is_shell_name(name)) text += fmt::format("export {}\n", assignment(name, value));
  }
  if (!dry_run.chosen_later.empty()) {
    const std::string all =
        fmt::format("# Chosen at the start: {}", fmt::join(dry_run.chosen_later, ", "));
    text += fmt::format("{}\n",
                        fmt::join(wrapped(all, columns - comment_indent.size()),
                                  fmt::format("\n{}", comment_indent)));
  }
  text += "# Without ddprun, let rank 0 serve the store:\n";
  return text + "# export MASTER_PORT=29500 TORCHELASTIC_USE_AGENT_STORE=False\n";
}

/// Variables and command of one worker in one line for sh.
std::string worker_text(const DryRun& dry_run, const DryRun::Worker& worker) {
  std::vector<std::string> words;
  for (const auto& [name, value] : worker.variables) words.push_back(assignment(name, value));
  std::vector<std::string> others;
  for (const auto& [name, value] : dry_run.shared) {
    if (!is_shell_name(name)) others.push_back(shell_word(fmt::format("{}={}", name, value)));
  }
  if (!worker.cores.empty()) words.push_back("taskset --cpu-list " + worker.cores);
  if (!others.empty()) words.emplace_back("env");
  words.insert(words.end(), others.begin(), others.end());
  words.push_back(shell_word(worker.executable));
  for (std::size_t i = 1; i < worker.command.size(); ++i) {
    words.push_back(shell_word(worker.command[i]));
  }
  return fmt::format("{}\n", fmt::join(words, " "));
}

}  // namespace

std::string dry_run_text(const DryRun& dry_run) {
  std::string text = given_text(dry_run) + defaults_text(dry_run.defaults);
  for (const std::string& line : {dry_run.situation, dry_run.meeting}) {
    if (!line.empty()) text += fmt::format("\n{}\n", line);
  }
  for (const std::string& note : dry_run.notes) text += fmt::format("\nNote: {}.\n", note);
  if (dry_run.workers.empty()) return text;
  text += shared_text(dry_run);
  text +=
      fmt::format("\n# {} on {}:\n", text_of_count(dry_run.workers.size(), "worker"), dry_run.host);
  for (const DryRun::Worker& worker : dry_run.workers) text += worker_text(dry_run, worker);
  return text;
}

}  // namespace ddprun
