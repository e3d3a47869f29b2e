#include "launcher/processes/bottom_line.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace ddprun {
namespace {

constexpr int columns = 40;
constexpr std::array<char, 5'000> streams{};

/// A terminal of one width that knows "\n", "\r" and "erase the rest of the row".
struct Terminal {
  BottomLine bottom;
  std::vector<std::string> rows{""};
  std::size_t column = 0;

  void write(std::size_t owner, const std::string& bytes) {
    put(bottom.write(&streams.at(owner), bytes, columns));
  }
  void set(std::size_t owner, const std::string& text) {
    put(bottom.set(&streams.at(owner), text, columns));
  }
  void wait_for(const std::string& text) { put(bottom.set(BottomLine::status, text, columns)); }
  void put(std::string_view bytes) {
    while (!bytes.empty()) {
      if (bytes.starts_with("\x1b[K")) {
        rows.back().resize(std::min(column, rows.back().size()));
        bytes.remove_prefix(3);
        continue;
      }
      const char byte = bytes.front();
      bytes.remove_prefix(1);
      if (byte == '\n') rows.emplace_back();
      if (byte == '\n' || byte == '\r') {
        column = 0;
        continue;
      }
      REQUIRE(column < columns);
      rows.back().resize(std::max(rows.back().size(), column + 1), ' ');
      rows.back()[column++] = byte;
    }
  }
};

using Rows = std::vector<std::string>;

TEST_CASE("bottom line: without one, lines pass as they are") {
  BottomLine bottom;
  CHECK(bottom.write(&streams[1], "a\nb\n", columns) == "a\nb\n");
  CHECK(bottom.write(&streams[2], "\x1b[2Jc\r\n", columns) == "\x1b[2Jc\r\n");
}

TEST_CASE("bottom line: the status stays below the lines of others until it is gone") {
  Terminal terminal;
  terminal.wait_for("waiting 1 s");
  CHECK(terminal.rows == Rows{"waiting 1 s"});
  terminal.write(1, "a\n");
  CHECK(terminal.rows == Rows{"a", "waiting 1 s"});
  terminal.wait_for("no");
  terminal.write(1, "b\nc\n");
  CHECK(terminal.rows == Rows{"a", "b", "c", "no"});
  terminal.wait_for("");
  CHECK(terminal.rows == Rows{"a", "b", "c", ""});
  CHECK(terminal.bottom.write(&streams[1], "d\n", columns) == "d\n");
}

TEST_CASE("bottom line: a bar redraws itself in place, and lines of others go above it") {
  Terminal terminal;
  terminal.write(1, "long 10%\r");
  terminal.write(1, "20%\r30%\r");
  CHECK(terminal.rows == Rows{"30%"});
  terminal.write(2, "x\n");
  CHECK(terminal.rows == Rows{"x", "30%"});
  terminal.write(1, "100%\n");
  CHECK(terminal.rows == Rows{"x", "100%", ""});
}

TEST_CASE("bottom line: an ending that comes apart from its bar leaves the bar where it stands") {
  Terminal terminal;
  terminal.write(1, "100%\r");
  terminal.write(2, "x\n");
  terminal.write(1, "\n");
  CHECK(terminal.rows == Rows{"x", "100%", ""});
  terminal.write(1, "5%\r");
  terminal.write(1, "\r");
  CHECK(terminal.rows == Rows{"x", "100%", ""});
}

TEST_CASE("bottom line: of several bars the newest is drawn, and the status behind all") {
  Terminal terminal;
  terminal.wait_for("waiting");
  terminal.write(1, "one\r");
  terminal.wait_for("waiting on");
  CHECK(terminal.rows == Rows{"one"});
  terminal.write(2, "two\r");
  CHECK(terminal.rows == Rows{"two"});
  terminal.set(2, "");
  CHECK(terminal.rows == Rows{"one"});
  terminal.write(1, "end\n");
  CHECK(terminal.rows == Rows{"end", "waiting on"});
}

TEST_CASE("bottom line: thousands of owners cost no more than a few") {
  Terminal terminal;
  terminal.wait_for("waiting");
  for (std::size_t owner = 0; owner < streams.size(); ++owner) terminal.write(owner, "bar\r");
  for (std::size_t owner = 0; owner < streams.size(); ++owner) terminal.set(owner, "");
  CHECK(terminal.rows == Rows{"waiting"});
}

TEST_CASE("bottom line: what is wider than the terminal is cut, so that one row holds it") {
  Terminal terminal;
  terminal.wait_for(std::string(100, 'x'));
  CHECK(terminal.rows == Rows{std::string(columns - 1, 'x')});
  CHECK(cut_to_columns("abc", 3) == "abc");
  CHECK(cut_to_columns("abcd", 3) == "abc");
  CHECK(cut_to_columns("äöü█", 3) == "äöü");
  CHECK(cut_to_columns("\x1b[36mab\x1b[0m cd", 3) == "\x1b[36mab\x1b[0m \x1b[0m");
  CHECK(cut_to_columns("\x1b[36mab\x1b[0m", 2) == "\x1b[36mab\x1b[0m");
  CHECK(cut_to_columns("\x1b[", 2) == "\x1b[");
  CHECK(cut_to_columns("\xff\x80\x80", 1) == "\xff\x80\x80");
  CHECK(cut_to_columns("ab", 0).empty());
  CHECK(cut_to_columns("ab", -1).empty());
}

}  // namespace
}  // namespace ddprun
