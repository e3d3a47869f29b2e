// The messages of the sources stand in the manual, where people look them up.
#include "tests/content.hpp"
#include "tests/tidy/source.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ddprun::tidy;

/// Whose texts are errors of options and files, which say what to change, or no messages at all.
constexpr std::array unlisted{"launcher/allocation/",
                              "launcher/commands/coordinator_command.cpp",
                              "launcher/commands/different_files.cpp",
                              "launcher/commands/dispatch.cpp",  // what --version prints
                              "launcher/commands/dry_run",
                              "launcher/commands/folders.cpp",
                              "launcher/commands/hostlist_command.cpp",
                              "launcher/commands/port_file.cpp",
                              "launcher/commands/store_bind.cpp",
                              "launcher/devices/binding.cpp",
                              "launcher/events/",
                              "launcher/meeting/rendezvous_plan.cpp",
                              "launcher/options/",
                              "launcher/text/",
                              "launcher/workers/program.cpp",
                              "rendezvous/wire/message_codec.cpp",    // after "message refused"
                              "rendezvous/wire/message_fields.hpp"};  // likewise

/// What an error's last clause begins with, which is a remedy by itself.
constexpr std::array remedies{
    "add ", "ask ", "check ", "make ", "name ", "raise ", "see ", "write "};

constexpr std::array<std::string_view, 8> exceptions{
    // What workers print, by which a hint is chosen.
    "CUDA out of memory",
    "HIP out of memory",
    "Watchdog caught collective operation timeout",
    "unhandled system error",
    "Duplicate GPU detected",
    // In the report of a job without a failure.
    "all workers ended with success",
    // Of states in which nobody is told: tests show it.
    "nodes have stopped",
    "no leader is known"};

/// The literals of a source; those that only blanks separate are one.
std::vector<std::string> literals_in(const SourceFile& file) {
  std::vector<std::string> literals;
  std::size_t before = std::string::npos;  // the end of the literal before this one
  for (std::size_t open = file.code.find('"'); open != std::string::npos;) {
    const std::size_t close = file.code.find('"', open + 1);
    if (close == std::string::npos) break;
    const bool goes_on =
        before != std::string::npos && file.code.find_first_not_of(" \n", before + 1) == open;
    if (!goes_on) literals.emplace_back();
    literals.back() += file.text.substr(open + 1, close - open - 1);
    before = close;
    open = file.code.find('"', close + 1);
  }
  return literals;
}

/// What is left of a literal where values, clauses and escapes separate its pieces.
std::vector<std::string> pieces_of(const std::string& literal) {
  std::vector<std::string> pieces(1);
  for (std::size_t at = 0; at < literal.size(); ++at) {
    const std::string two = literal.substr(at, 2);
    if (two == "; " || two == ": " || two[0] == '\\' || two[0] == '%') {
      pieces.emplace_back();
      ++at;
    } else if (literal[at] == '{') {
      pieces.emplace_back();
      at = std::min(literal.find('}', at), literal.size());
    } else if (literal[at] != ' ' || !pieces.back().empty()) {
      pieces.back() += literal[at];
    }
  }
  for (std::string& piece : pieces) piece.erase(piece.find_last_not_of(' ') + 1);
  return pieces;
}

/// The first piece of three words or more; empty if there is none.
std::string distinctive_part(const std::string& literal) {
  for (const std::string& piece : pieces_of(literal)) {
    if (std::ranges::count(piece, ' ') >= 2) return piece;
  }
  return {};
}

bool begins_with_one(const std::string& text, const auto& beginnings) {
  return std::ranges::any_of(beginnings, [&](const char* each) { return text.starts_with(each); });
}

bool has_messages(const SourceFile& file) {
  return begins_with_one(file.path, std::array{"launcher/", "rendezvous/"}) && is_cpp(file) &&
         !begins_with_one(file.path, unlisted);
}

/// All pages as one line, without the macros that begin a line.
std::string words_of_manual() {
  std::string words;
  for (const auto& page : std::filesystem::directory_iterator(DDPRUN_SOURCE_DIR "/man")) {
    const std::string text = ddprun::content_of(page.path());
    for (std::string_view line : lines_of(text)) {
      if (line.starts_with('.')) line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
      words += std::string(line) + ' ';
    }
  }
  return words;
}

}  // namespace

TEST_CASE("messages: a message is known by its first clause of three words or more") {
  const SourceFile file =
      make_source("a.cpp", "f(\"{} of {} nodes: it must \"\n  \"end; so\\n\"); g(\"b\");");
  const std::vector<std::string> expected{"{} of {} nodes: it must end; so\\n", "b"};
  CHECK(literals_in(file) == expected);
  CHECK(distinctive_part(expected.front()) == "it must end");
  CHECK(distinctive_part("two words").empty());
}

TEST_CASE("messages: the manual has each message of the program") {
  const std::string manual = words_of_manual();
  std::set<std::string_view> unused(exceptions.begin(), exceptions.end());
  int count = 0;
  for (const SourceFile& file : read_tree(DDPRUN_SOURCE_DIR)) {
    if (!has_messages(file)) continue;
    for (const std::string& literal : literals_in(file)) {
      const std::string part = distinctive_part(literal);
      unused.erase(part);
      const bool is_known = std::ranges::find(exceptions, part) != exceptions.end();
      if (part.empty() || is_known || begins_with_one(part, remedies)) continue;
      CHECK_MESSAGE(manual.find(part) != std::string::npos, file.path, ": ", part);
      ++count;
    }
  }
  CHECK(count > 200);
  CHECK(unused.empty());
}
