// The project's own sources as the house rules see them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::tidy {

struct SourceFile {
  std::string path;  ///< From the root: "launcher/node/agent.cpp".
  std::string text;  ///< As it is.
  std::string code;  ///< The same with blanks for comments and what strings hold; lines agree.
};

/// What breaks a rule: "launcher/node/agent.cpp:12: why".
using Findings = std::vector<std::string>;

[[nodiscard]] SourceFile make_source(std::string path, std::string text);

/// Every file of the folders that this project writes itself, in the order of their paths.
[[nodiscard]] std::vector<SourceFile> read_tree(const std::string& root);

[[nodiscard]] bool is_header(const SourceFile& file);
[[nodiscard]] bool is_cpp(const SourceFile& file);  ///< Header or source of C++.

/// "launcher/node/agent.cpp" → "launcher"; "tests/unit/world_test.cpp" → "tests/unit".
[[nodiscard]] std::string folder_of(std::string_view path);

[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// The number of the line that holds `offset`, from 1.
[[nodiscard]] std::size_t line_at(std::string_view text, std::size_t offset);

/// Where `word` stands in `code` from `from` on, neither end touching a letter, digit or
/// underscore; npos if nowhere.
[[nodiscard]] std::size_t find_word(std::string_view code, std::string_view word, std::size_t from);

[[nodiscard]] bool is_name_char(char c);

struct Include {
  std::size_t line = 0;
  std::string path;
  bool quoted = false;  ///< "…", not <…>.
};
[[nodiscard]] std::vector<Include> includes_of(const SourceFile& file);

[[nodiscard]] std::string finding(const SourceFile& file, std::size_t line, std::string_view why);

}  // namespace ddprun::tidy
