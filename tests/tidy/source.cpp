#include "tests/tidy/source.hpp"

#include "tests/content.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

namespace ddprun::tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::array folders{"rendezvous",
                             "launcher",
                             "worker",
                             "examples",
                             "tests",
                             "bench",
                             "configs",
                             "man",
                             "packaging",
                             ".ci"};

/// The offset behind the literal or comment that begins at `at`; `at` itself where none does.
/// `content` gets the offset of what is to be blanked in it.
std::size_t skip_quoted(const std::string& text, std::size_t at, std::size_t& content) {
  const auto end_of = [&](std::string_view mark, std::size_t from) {
    return std::min(text.find(mark, from), text.size());
  };
  content = at;
  if (text.compare(at, 2, "//") == 0) return end_of("\n", at);
  if (text.compare(at, 2, "/*") == 0) return std::min(end_of("*/", at + 2) + 2, text.size());
  if (text.compare(at, 2, "R\"") == 0 && (at == 0 || !is_name_char(text[at - 1]))) {
    const std::size_t open = end_of("(", at);
    content = open + 1;
    const std::string mark = ")" + text.substr(at + 2, open - at - 2) + "\"";
    return std::min(end_of(mark, open) + mark.size() - 1, text.size());
  }
  const char quote = text[at];
  const bool separates_digits = quote == '\'' && at > 0 && is_name_char(text[at - 1]);
  if ((quote != '"' && quote != '\'') || separates_digits) return at;
  content = at + 1;
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return std::min(end, text.size());
}

/// Blanks out comments and what literals hold.
std::string code_of(const std::string& text) {
  std::string code = text;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t content = at;
    const std::size_t end = skip_quoted(text, at, content);
    for (std::size_t i = content; i < end; ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
    at = std::max(end, at) + (end == at || content > at ? 1 : 0);
  }
  return code;
}

}  // namespace

SourceFile make_source(std::string path, std::string text) {
  SourceFile file{std::move(path), std::move(text), {}};
  file.code = is_cpp(file) ? code_of(file.text) : file.text;
  return file;
}

std::vector<SourceFile> read_tree(const std::string& root) {
  std::vector<SourceFile> files;
  for (const char* folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / folder)) {
      const std::string path = fs::relative(entry.path(), root).generic_string();
      if (!entry.is_regular_file() || path.find("__pycache__") != std::string::npos) continue;
      if (path.starts_with("tests/fuzz/corpus/")) continue;  // bytes of any kind
      files.push_back(make_source(path, content_of(entry.path())));
    }
  }
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".md")) files.push_back(make_source(name, content_of(entry.path())));
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

bool is_header(const SourceFile& file) {
  return file.path.ends_with(".hpp") || file.path.ends_with(".h");
}

bool is_cpp(const SourceFile& file) {
  return is_header(file) || file.path.ends_with(".cpp");
}

std::string folder_of(std::string_view path) {
  std::size_t end = path.find('/');
  if (path.starts_with("tests/")) end = path.find('/', end + 1);
  return std::string(path.substr(0, end));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::size_t line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

std::size_t find_word(std::string_view code, std::string_view word, std::size_t from) {
  for (std::size_t at = code.find(word, from); at != std::string_view::npos;
       at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_name_char(code[at - 1]) || !is_name_char(word.front());
    const bool ends = end == code.size() || !is_name_char(code[end]) || !is_name_char(word.back());
    if (begins && ends) return at;
  }
  return std::string_view::npos;
}

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::vector<Include> includes_of(const SourceFile& file) {
  constexpr std::string_view directive = "#include ";
  std::vector<Include> includes;
  const auto text = lines_of(file.text);
  const auto code = lines_of(file.code);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!code[i].starts_with(directive)) continue;
    const std::string_view operand = text[i].substr(directive.size());
    const bool quoted = operand.starts_with('"');
    const std::size_t end = operand.find(quoted ? '"' : '>', 1);
    if (end == std::string_view::npos) continue;
    includes.push_back({i + 1, std::string(operand.substr(1, end - 1)), quoted});
  }
  return includes;
}

std::string finding(const SourceFile& file, std::size_t line, std::string_view why) {
  return file.path + ":" + std::to_string(line) + ": " + std::string(why);
}

}  // namespace ddprun::tidy
