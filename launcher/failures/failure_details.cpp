#include "launcher/failures/failure_details.hpp"

#include "launcher/failures/hints.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddprun {
namespace {

std::string quoted(const std::deque<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += fmt::format("  | {}\n", line);
  return text;
}

std::deque<std::string> lines_in(const std::string& text) {
  std::deque<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else if (c != '\r') {
      lines.back() += c;
    }
  }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

/// Of a traceback that is the exception.
std::string last_line_of(const std::string& whose, const std::deque<std::string>& lines) {
  const auto last = std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) {
    return line.find_first_not_of(" \t") != std::string::npos;
  });
  if (last == lines.rend()) return {};
  return fmt::format("  last line of {}: {}\n", whose, *last);
}

/// Whether the lines that the report shows have it anyway, as at the end of a traceback.
bool is_in_last_lines(const FailureFacts& facts) {
  const std::deque<std::string> exception = lines_in(facts.exception);
  const std::deque<std::string>& lines = facts.last_lines;
  const auto found = std::search(lines.begin(), lines.end(), exception.begin(), exception.end());
  return !facts.were_shown && found != lines.end();
}

/// What the kernel says is surer than what the program has printed.
std::string main_hint(const WorkerEnd& end, const FailureFacts& facts) {
  for (const std::string& hint : {hint_for_memory(facts.oom_kills),
                                  hint_for(end),
                                  hint_for_output(lines_in(facts.exception)),
                                  hint_for_output(facts.last_lines)}) {
    if (!hint.empty()) return hint;
  }
  return {};
}

}  // namespace

std::string failure_details(const Outcome& outcome, const FailureFacts& facts) {
  if (!outcome.failure) return {};
  const int rank = outcome.failure->rank.value;
  const std::string whose =
      fmt::format("rank {}'s {}", rank, facts.are_of_both ? "output" : "stderr");
  std::string text;
  if (outcome.failure->end.kind == WorkerEnd::Kind::not_executed) {
    text += fmt::format("  program: {}\n", facts.executable);
  }
  if (!facts.exception.empty() && !is_in_last_lines(facts)) {
    text += fmt::format("  exception of rank {}:\n{}", rank, quoted(lines_in(facts.exception)));
  }
  if (!facts.last_lines.empty() && !facts.were_shown) {
    text += fmt::format("  last lines of {}:\n{}", whose, quoted(facts.last_lines));
  } else if (facts.exception.empty()) {
    text += last_line_of(whose, facts.last_lines);
  }
  if (!facts.error_file.empty()) text += fmt::format("  error file: {}\n", facts.error_file);
  for (const std::string& hint : failure_hints(*outcome.failure, facts)) {
    text += fmt::format("  hint: {}\n", hint);
  }
  return text;
}

std::vector<std::string> failure_hints(const WorkerFailure& failure, const FailureFacts& facts) {
  const std::string core = facts.core_pattern.empty() ? "" : hint_for_core(facts.core_pattern);
  std::vector<std::string> hints{
      main_hint(failure.end, facts), core, hint_for_driver(facts.driver_error)};
  std::erase_if(hints, [](const std::string& hint) { return hint.empty(); });
  return hints;
}

}  // namespace ddprun
