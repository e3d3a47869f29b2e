// Progress bars in a log. A bar writes itself over by "\r", many times a second; on a terminal that
// is one line, in a file each state of it would be a line. Pure.
#pragma once

#include "rendezvous/units.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace ddprun {

class BarThinner {
 public:
  static constexpr Millis usual_pause{10'000};

  /// `pause`: between two states of a bar that are shown.
  explicit BarThinner(Millis pause = usual_pause) : pause_(pause) {}

  /// What is to be shown of the stream by now: whole lines, and of a bar one state in each pause,
  /// as a line. What a line writes over is not shown. Valid until the next call, and as long as
  /// `bytes`, of which it may be a part.
  [[nodiscard]] std::string_view feed(std::string_view bytes, Instant now);

  /// When the newest state of a bar is to be shown by `show`, though nothing follows it: the
  /// program may hang. Nothing while none is held back.
  [[nodiscard]] std::optional<Instant> next_deadline() const { return due_; }

  /// That state as a line. It may go on: then all of it is shown once more.
  [[nodiscard]] std::string show(Instant now);

  /// The rest: a line that never ended, or the last state of a bar.
  [[nodiscard]] std::string finish();

 private:
  [[nodiscard]] std::size_t whole_lines(std::string_view bytes) const;
  void take_line(std::string_view ending);
  void take_state(Instant now);
  bool keep_state();
  [[nodiscard]] std::string_view held_back() const;

  Millis pause_;
  std::string out_;
  std::string line_;         // begun
  std::string bar_;          // its last state, not shown
  std::string shown_early_;  // by `show`, of a line that has not ended since
  bool is_bar_ = false;      // the line begun writes over an earlier state
  bool returned_ = false;    // after a "\r", to which a "\n" may still belong
  std::optional<Instant> shown_;
  std::optional<Instant> due_;
};

}  // namespace ddprun
