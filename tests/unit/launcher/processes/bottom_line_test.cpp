#include "launcher/processes/bottom_line.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace ddprun {
namespace {

constexpr std::size_t columns = 40;
constexpr std::array<char, 5'000> streams{};

/// How many bytes the character at the beginning of `text` has, and columns: two in Chinese.
std::size_t bytes_of_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  return std::min<std::size_t>(first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1, text.size());
}
std::size_t columns_of_character(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  return first >= 0xe4 && first <= 0xe9 ? 2 : 1;
}

/// A terminal that knows "\n", "\r", "erase the rest of the row and all below", and whether a
/// character beyond the last column goes to the next row. Each row is a list of its columns.
struct Terminal {
  using Row = std::vector<std::string>;
  BottomLine bottom;
  std::vector<Row> cells{{}};
  std::size_t row = 0;
  std::size_t column = 0;
  std::size_t width = columns;
  bool goes_to_next_row = true;

  void write(std::size_t owner, const std::string& bytes) {
    put(bottom.write(&streams.at(owner), bytes, static_cast<int>(width)));
  }
  void set(std::size_t owner, const std::string& text) {
    put(bottom.set(&streams.at(owner), text, static_cast<int>(width)));
  }
  void wait_for(const std::string& text) {
    put(bottom.set(BottomLine::status, text, static_cast<int>(width)));
  }
  /// Breaks rows that are too wide; the cursor stays on its character.
  void become(std::size_t new_width) {
    std::vector<Row> broken;
    std::size_t cursor_row = 0;
    for (const Row& each : cells) {
      if (&each == &cells[row]) cursor_row = broken.size() + column / new_width;
      std::size_t from = 0;
      do {
        const std::size_t to = std::min(from + new_width, each.size());
        broken.emplace_back(each.begin() + static_cast<std::ptrdiff_t>(from),
                            each.begin() + static_cast<std::ptrdiff_t>(to));
        from = to;
      } while (from < each.size());
    }
    cells = broken;
    row = cursor_row;
    column %= new_width;
    width = new_width;
  }

  bool takes(std::string_view& bytes, std::string_view sequence) {
    if (!bytes.starts_with(sequence)) return false;
    bytes.remove_prefix(sequence.size());
    return true;
  }
  void put(std::string_view bytes) {
    while (!bytes.empty()) {
      if (takes(bytes, "\x1b[J")) {
        cells.resize(row + 1);
        cells[row].resize(std::min(column, cells[row].size()));
      } else if (takes(bytes, "\x1b[?7l")) {
        goes_to_next_row = false;
      } else if (takes(bytes, "\x1b[?7h")) {
        goes_to_next_row = true;
      } else if (takes(bytes, "\n")) {
        go_to_next_row();
      } else if (takes(bytes, "\r")) {
        column = 0;
      } else {
        const std::string_view character = bytes.substr(0, bytes_of_character(bytes));
        bytes.remove_prefix(character.size());
        add(character);
      }
    }
  }
  void go_to_next_row() {
    if (++row == cells.size()) cells.emplace_back();
    column = 0;
  }
  void add(std::string_view character) {
    const std::size_t taken = columns_of_character(character);
    if (column + taken > width && goes_to_next_row) go_to_next_row();
    column = std::min(column, width - taken);
    cells[row].resize(std::max(cells[row].size(), column + taken));
    cells[row][column] = character;
    column += taken;
  }
  [[nodiscard]] std::vector<std::string> rows() const {
    std::vector<std::string> texts;
    for (const Row& each : cells) {
      texts.emplace_back();
      for (const std::string& cell : each) texts.back() += cell;
    }
    return texts;
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
  CHECK(terminal.rows() == Rows{"waiting 1 s"});
  terminal.write(1, "a\n");
  CHECK(terminal.rows() == Rows{"a", "waiting 1 s"});
  terminal.wait_for("no");
  terminal.write(1, "b\nc\n");
  CHECK(terminal.rows() == Rows{"a", "b", "c", "no"});
  terminal.wait_for("");
  CHECK(terminal.rows() == Rows{"a", "b", "c", ""});
  CHECK(terminal.bottom.write(&streams[1], "d\n", columns) == "d\n");
}

TEST_CASE("bottom line: a bar redraws itself in place, and lines of others go above it") {
  Terminal terminal;
  terminal.write(1, "long 10%\r");
  terminal.write(1, "20%\r30%\r");
  CHECK(terminal.rows() == Rows{"30%"});
  terminal.write(2, "x\n");
  CHECK(terminal.rows() == Rows{"x", "30%"});
  terminal.write(1, "100%\n");
  CHECK(terminal.rows() == Rows{"x", "100%", ""});
}

TEST_CASE("bottom line: an ending that comes apart from its bar leaves the bar where it stands") {
  Terminal terminal;
  terminal.write(1, "100%\r");
  terminal.write(2, "x\n");
  terminal.write(1, "\n");
  CHECK(terminal.rows() == Rows{"x", "100%", ""});
  terminal.write(1, "5%\r");
  terminal.write(1, "\r");
  CHECK(terminal.rows() == Rows{"x", "100%", ""});
}

TEST_CASE("bottom line: of several bars the newest is drawn, and the status behind all") {
  Terminal terminal;
  terminal.wait_for("waiting");
  terminal.write(1, "one\r");
  terminal.wait_for("waiting on");
  CHECK(terminal.rows() == Rows{"one"});
  terminal.write(2, "two\r");
  CHECK(terminal.rows() == Rows{"two"});
  terminal.set(2, "");
  CHECK(terminal.rows() == Rows{"one"});
  terminal.write(1, "end\n");
  CHECK(terminal.rows() == Rows{"end", "waiting on"});
}

TEST_CASE("bottom line: thousands of owners cost no more than a few") {
  Terminal terminal;
  terminal.wait_for("waiting");
  for (std::size_t owner = 0; owner < streams.size(); ++owner) terminal.write(owner, "bar\r");
  for (std::size_t owner = 0; owner < streams.size(); ++owner) terminal.set(owner, "");
  CHECK(terminal.rows() == Rows{"waiting"});
}

TEST_CASE("bottom line: what is wider than the terminal is cut, so that one row holds it") {
  Terminal terminal;
  terminal.wait_for(std::string(100, 'x'));
  CHECK(terminal.rows() == Rows{std::string(columns - 1, 'x')});
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

TEST_CASE("bottom line: a window made narrower breaks the row, and all of that is erased") {
  for (const bool is_bar : {false, true}) {
    CAPTURE(is_bar);
    Terminal terminal;
    terminal.write(1, "a\n");
    const std::string text(30, 'x');
    is_bar ? terminal.write(2, text + "\r") : terminal.wait_for(text);
    terminal.become(20);
    CHECK(terminal.rows() == Rows{"a", std::string(20, 'x'), std::string(10, 'x')});
    terminal.write(1, "b\n");
    CHECK(terminal.rows() == Rows{"a", "b", std::string(19, 'x')});
    terminal.become(columns);
    is_bar ? terminal.set(2, "") : terminal.wait_for("");
    CHECK(terminal.rows() == Rows{"a", "b", ""});
  }
}

TEST_CASE("bottom line: what is typed goes behind a line that has begun") {
  Terminal terminal;
  terminal.set(1, "go on? ");
  CHECK(terminal.column == 7);
  terminal.write(2, "x\n");
  CHECK(terminal.column == 7);
  terminal.wait_for("waiting");
  CHECK(terminal.column == 7);
  terminal.write(1, "go on? yes\n");
  CHECK(terminal.column == 0);
  CHECK(terminal.rows() == Rows{"x", "go on? yes", "waiting"});
}

TEST_CASE("bottom line: characters of two columns stay in one row") {
  Terminal terminal;
  std::string wide;
  for (int i = 0; i < 60; ++i) wide += "\u9032";
  for (int i = 0; i < 3; ++i) terminal.write(1, wide + std::to_string(i) + "\r");
  CHECK(terminal.rows().size() == 1);
  terminal.write(1, "done\n");
  CHECK(terminal.rows() == Rows{"done", ""});
  CHECK(terminal.goes_to_next_row);
}

TEST_CASE("bottom line: nothing in it leaves its row") {
  CHECK(in_one_row("a\tb\x1b[Ac\x1b[2Jd\x07\b\x7f") == "a bcd");
  CHECK(in_one_row("\x1b[1;36mx\x1b[38:5:1my\x1b[m") == "\x1b[1;36mx\x1b[38:5:1my\x1b[m");
  CHECK(in_one_row("\x1b]0;title\x07x\x1b]never ended") == "x");
  CHECK(in_one_row("\x1b").empty());
  CHECK(in_one_row("\x1b[").empty());
  CHECK(in_one_row("\u00e4\u9032") == "\u00e4\u9032");
  Terminal terminal;
  terminal.write(1, "outer\n");
  terminal.write(2, "inner 10%\x1b[A\r");
  terminal.write(1, "outer\n");
  terminal.write(2, "\x1b[A\r");
  CHECK(terminal.rows() == Rows{"outer", "outer", ""});
}

}  // namespace
}  // namespace ddprun
