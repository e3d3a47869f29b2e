// The bottom line of a terminal: text that is no whole line yet, such as a progress bar, a prompt
// or what ddprun waits for. It is erased before lines are written, and drawn again below them.
// Pure.
//
// Bounds
//   One row, so that it can be erased: what is wider is cut, and nothing in it moves the cursor but
//   to the right. The cursor is at its beginning, or behind a line that waits for its end. At most
//   `owners_max` texts are kept; the newest is drawn, and the status only where there is no other.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace ddprun {

class BottomLine {
 public:
  using Owner = const void*;                ///< Who writes, such as a stream of a worker.
  static constexpr Owner status = nullptr;  ///< What ddprun waits for, or how far workers are.
  static constexpr std::size_t owners_max = 256;

  /// What to write to a terminal that is `columns` wide for `bytes` of `owner`. They end with "\n",
  /// or with "\r" after a text that stays at the bottom until the owner writes again.
  [[nodiscard]] std::string write(Owner owner, std::string bytes, int columns);

  /// What to write when the owner's text becomes this one; if empty, it has none.
  [[nodiscard]] std::string set(Owner owner, std::string_view text, int columns);

 private:
  struct Text {
    Owner owner = status;
    std::string text;
    bool is_begun = false;  // a line: what is typed goes behind it
  };
  std::string extract(Owner owner);
  void keep(Text kept);
  [[nodiscard]] std::string erased() const;
  std::string drawn(int columns);

  std::deque<Text> texts_;  // the newest last, behind the status
  bool is_drawn_ = false;
};

/// `text` without what would leave its row: control characters, and sequences but those that set
/// colours. A tab becomes a blank.
[[nodiscard]] std::string in_one_row(std::string_view text);

/// The beginning of `text` that takes `columns`, one for a character; sequences that set
/// colours take none, and are undone where the text is cut.
[[nodiscard]] std::string cut_to_columns(std::string_view text, int columns);

}  // namespace ddprun
