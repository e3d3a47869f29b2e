// A terminal that this process writes to.
#pragma once

#include <termios.h>

#include <cstddef>
#include <optional>

namespace ddprun {

/// Whether a row of it may be erased and drawn again: nobody else has it, as the shell or an editor
/// does while this process runs in the background. False for what is no terminal.
[[nodiscard]] bool may_redraw(int fd);

[[nodiscard]] bool is_pipe(int fd);

/// Which terminal it is, by whatever name it was opened; 0 for what is none.
[[nodiscard]] unsigned terminal_number(int fd);

/// As many as most have, where it does not say.
[[nodiscard]] int columns_of(int fd);

/// What a prefix of that width leaves of this process's own terminal for a worker's: at least 20.
[[nodiscard]] int columns_beside(std::size_t prefix_width);

/// Tells a worker that writes to the pseudo terminal `fd` how wide it is; nothing for a pipe.
void set_columns(int fd, int columns);

/// How a terminal edits and shows what is typed, as it was when this was made: for after a program
/// that was killed before it could put that back.
class TerminalModes {
 public:
  explicit TerminalModes(int fd);
  /// Does nothing while somebody else has the terminal.
  void restore() const;

 private:
  int fd_;
  std::optional<termios> modes_;  // nothing: it is no terminal
};

}  // namespace ddprun
