#include "tests/tidy/layout.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace ddprun::tidy {
namespace {

/// In code points, since every byte but the first of one begins with the bits 10.
std::size_t count_columns(std::string_view line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::size_t matching_brace(std::string_view code, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < code.size(); ++at) {
    if (code[at] == '{') ++depth;
    if (code[at] == '}' && --depth == 0) return at;
  }
  return code.size() - 1;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \n\t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n\t") - first + 1);
}

/// What a brace opens, judged by `head`, the text since the last statement or brace.
enum class Braced { scope, function, value };
Braced kind_of(std::string_view head) {
  constexpr std::array scopes{"namespace", "class", "struct", "union", "enum", "extern"};
  constexpr std::array qualifiers{"const", "noexcept", "override", "final", "try", "mutable"};
  head = trimmed(head);
  const auto has = [&](std::string_view word) {
    return find_word(head, word, 0) != std::string_view::npos;
  };
  if (head.find('(') == std::string_view::npos) {
    return std::ranges::any_of(scopes, has) ? Braced::scope : Braced::value;
  }
  const bool qualified =
      std::ranges::any_of(qualifiers, [&](std::string_view word) { return head.ends_with(word); });
  const bool returns = head.find("->") != std::string_view::npos;
  return head.ends_with(')') || qualified || returns ? Braced::function : Braced::value;
}

bool opens_lambda_body(std::string_view statement, std::size_t brace) {
  const std::string_view before = trimmed(statement.substr(0, brace));
  if (before.ends_with(')') || before.ends_with(']')) return true;
  const std::size_t paren = before.rfind(')');
  return paren != std::string_view::npos && trimmed(before.substr(paren + 1)).starts_with("->");
}

/// Whether the bracket at `at` begins a lambda that captures.
bool captures(std::string_view statement, std::size_t at) {
  const std::string_view before = trimmed(statement.substr(0, at));
  const bool begins =
      before.empty() || std::string_view("(,=&|?:{").find(before.back()) != std::string_view::npos;
  return begins && at + 1 < statement.size() && statement[at + 1] != ']' &&
         statement[at + 1] != '[';
}

/// Whether the brace at `at` begins a block of statements and not a value.
bool opens_block(std::string_view code, std::size_t at) {
  constexpr std::array words{"else", "try", "do", "const", "noexcept", "mutable"};
  const std::string_view before = trimmed(code.substr(0, at));
  if (before.empty() || std::string_view(");{}:").find(before.back()) != std::string_view::npos) {
    return true;
  }
  const auto ends = [&](std::string_view word) { return before.ends_with(word); };
  return std::ranges::any_of(words, ends) || opens_lambda_body(before, before.size());
}

bool ends_block(std::string_view code, std::size_t at) {
  const std::string_view after = trimmed(code.substr(at + 1, 40));
  return after.empty() || std::string_view(",).;}").find(after.front()) == std::string_view::npos;
}

/// From the end of the statement before to the semicolon, or to the block that it controls.
std::string_view statement_around(std::string_view code, std::size_t at) {
  std::size_t begin = at;
  int depth = 0;
  for (; begin > 0; --begin) {
    const char c = code[begin - 1];
    if (depth <= 0 && c == ';') break;
    if (depth <= 0 && c == '{' && opens_block(code, begin - 1)) break;
    if (depth <= 0 && c == '}' && ends_block(code, begin - 1)) break;
    if (c == ')' || c == '}') ++depth;
    if (c == '(' || c == '{') --depth;
  }
  std::size_t end = at;
  depth = 0;
  for (; end < code.size(); ++end) {
    if (depth <= 0 && (code[end] == ';' || (code[end] == '{' && opens_block(code, end)))) break;
    if (code[end] == '(' || code[end] == '{') ++depth;
    if (code[end] == ')' || code[end] == '}') --depth;
  }
  return code.substr(begin, end - begin);
}

/// Whether the call at `at` belongs to a loop that looks again whether its event has come.
bool waits_for_event(std::string_view code, std::size_t at) {
  const std::string_view line = code.substr(code.rfind('\n', at) + 1, code.find('\n', at));
  if (find_word(line, "while", 0) < line.find('\n')) return true;
  int depth = 0;
  for (std::size_t i = at; i > 0; --i) {
    if (code[i - 1] == '}') ++depth;
    if (code[i - 1] != '{' || --depth >= 0) continue;
    const std::size_t head = code.find_last_of(";{}", i - 2) + 1;
    return find_word(code.substr(head, i - head), "while", 0) != std::string_view::npos;
  }
  return false;
}

void forbid(const SourceFile& file,
            std::string_view where,
            std::string_view word,
            std::string_view why,
            Findings& findings) {
  for (std::size_t at = find_word(where, word, 0); at != std::string_view::npos;
       at = find_word(where, word, at + 1)) {
    findings.push_back(
        finding(file, line_at(where, at), std::string(word) + ": " + std::string(why)));
  }
}

}  // namespace

Findings check_file_length(const SourceFile& file) {
  Findings findings;
  if (file.path.starts_with("man/") || file.path.starts_with("tests/scenario/")) return findings;
  if (file.path.ends_with(".schema.json")) return findings;  // made by ddprun
  const auto lines = lines_of(file.text);
  if (lines.size() > file_lines_max) {
    findings.push_back(finding(file, lines.size(), "the file is too long: find its two concepts"));
  }
  if (file.path.ends_with(".tsv")) return findings;    // rows cannot be cut
  const bool has_tables = file.path.ends_with(".md");  // nor these
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (has_tables && lines[i].starts_with('|')) continue;
    if (count_columns(lines[i]) > columns_max) {
      findings.push_back(finding(file, i + 1, "the line is too long"));
    }
  }
  return findings;
}

Findings check_function_length(const SourceFile& file) {
  Findings findings;
  if (!is_cpp(file)) return findings;
  const std::string_view code = file.code;
  std::size_t head = 0;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (code[at] == ';' || code[at] == '}') head = at + 1;
    if (code[at] != '{') continue;
    const Braced kind = kind_of(code.substr(head, at - head));
    if (kind == Braced::scope) {
      head = at + 1;
      continue;
    }
    const std::size_t close = matching_brace(code, at);
    if (kind == Braced::function) {
      const std::size_t lines = line_at(code, close) - line_at(code, at);
      if (lines > function_lines_max) {
        findings.push_back(finding(
            file, line_at(code, at), "the function has " + std::to_string(lines) + " lines"));
      }
      head = close + 1;
    }
    at = close;
  }
  return findings;
}

Findings check_header(const SourceFile& file) {
  Findings findings;
  if (!is_header(file)) return findings;
  if (!file.text.starts_with("// ")) {
    findings.push_back(finding(file, 1, "a header begins with a comment that says what it is"));
  }
  if (trimmed(file.code).substr(0, 12) != "#pragma once") {
    findings.push_back(finding(file, 1, "#pragma once is missing"));
  }
  return findings;
}

Findings check_words(const SourceFile& file) {
  Findings findings;
  if (file.path.starts_with("tests/tidy/")) return findings;  // says these words to forbid them
  for (const char* word : {"TODO", "FIXME", "XXX"}) {
    forbid(file, file.text, word, "finish it or leave it out", findings);
  }
  for (const char* word : {"pkill", "killall"}) {
    forbid(file, file.text, word, "end only what was started here, by its pid", findings);
  }
  const std::string folder = folder_of(file.path);
  if (folder == "launcher" || folder == "rendezvous") {
    forbid(file, file.code, "detached", "somebody must wait for every coroutine", findings);
  }
  if (file.path.starts_with("tests/")) {
    for (const char* word : {"sleep_for", "sleep_until", "usleep(", "nanosleep(", "sleep("}) {
      const std::size_t at = find_word(file.code, word, 0);
      if (at == std::string::npos || (is_cpp(file) && waits_for_event(file.code, at))) continue;
      findings.push_back(finding(
          file, line_at(file.code, at), std::string(word) + ": wait for the event instead"));
    }
  }
  return findings;
}

Findings check_test_names(const SourceFile& file) {
  Findings findings;
  for (const char* macro : {"TEST_CASE", "TEST_CASE_FIXTURE"}) {
    for (std::size_t at = find_word(file.code, macro, 0); at != std::string::npos;
         at = find_word(file.code, macro, at + 1)) {
      const std::size_t begin = std::min(file.code.find('"', at), file.code.size());
      const std::string_view name =
          std::string_view(file.text).substr(begin, file.code.find('"', begin + 1) - begin);
      if (name.find(';') == std::string_view::npos) continue;
      findings.push_back(finding(
          file, line_at(file.code, at), "a semicolon in a test's name: ctest would never run it"));
    }
  }
  return findings;
}

Findings check_co_await(const SourceFile& file) {
  Findings findings;
  if (!is_cpp(file)) return findings;
  for (std::size_t at = find_word(file.code, "co_await", 0); at != std::string::npos;
       at = find_word(file.code, "co_await", at + 1)) {
    const std::string_view statement = statement_around(file.code, at);
    for (std::size_t i = 0; i < statement.size(); ++i) {
      const bool temporary = statement[i] == '{' && !opens_lambda_body(statement, i);
      const bool closure = statement[i] == '[' && captures(statement, i);
      if (!temporary && !closure) continue;
      findings.push_back(finding(file,
                                 line_at(file.code, at),
                                 "name this temporary on a line of its own before co_await"));
      break;
    }
  }
  return findings;
}

}  // namespace ddprun::tidy
