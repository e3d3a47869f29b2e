// Splits a worker's output into whole lines, and keeps the last few. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// A longer line is shown in pieces of this size, so that a worker that never ends one costs no
/// memory.
constexpr std::size_t line_bytes_max = 64 * 1024;

/// Where the first "\n" or "\r" of `text` is; npos if it has none.
[[nodiscard]] std::size_t line_end(std::string_view text);

/// Cuts a stream into lines and puts a prefix before each. "\n", "\r\n" and "\r" end a line, the
/// last so that progress bars appear while they move. Blanks before a "\r" only make room.
class LinePrefixer {
 public:
  /// Where `beginnings` are given, only lines that begin with one of them get the prefix.
  explicit LinePrefixer(std::string prefix, std::vector<std::string> beginnings = {})
      : prefix_(std::move(prefix)), beginnings_(std::move(beginnings)) {}

  /// Returns the lines that `bytes` complete, each with its prefix and its own ending.
  [[nodiscard]] std::string feed(std::string_view bytes);

  /// The beginning of the line that has no ending yet, with its prefix; empty: there is none.
  [[nodiscard]] std::string begun() const;

  /// Returns the line that was begun and never ended, with an ending, or the ending of a bar's last
  /// state; empty if there is none.
  [[nodiscard]] std::string finish();

 private:
  /// What the newest bytes ended; after a "\r" its "\n" may still come.
  enum class After : std::uint8_t { line, state, blank_return };
  void take_ending(std::string_view& bytes, std::string& out);
  [[nodiscard]] std::string_view prefix_of(std::string_view rest) const;

  std::string prefix_;
  std::vector<std::string> beginnings_;
  std::string begun_;
  After after_ = After::line;
};

/// The last lines of a stream, for the report of a failure.
class Tail {
 public:
  static constexpr std::size_t lines_max = 40;
  static constexpr std::size_t bytes_max = 16 * 1024;  ///< Of one line; the rest of it is dropped.

  void feed(std::string_view bytes);

  /// Oldest first, without endings. A line not ended yet counts; of one that was written over
  /// ("\r") the newest text does.
  [[nodiscard]] std::deque<std::string> lines() const;

 private:
  std::deque<std::string> ended_;
  std::string begun_;
  bool returned_ = false;  // after a "\r"
};

}  // namespace ddprun
